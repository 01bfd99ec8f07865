import type { LlamaContextSequence } from 'node-llama-cpp';

/** With fewer tokens in common, evaluating them is as quick as waiting for another request. */
const worthTokens = 64;

/**
 * node-llama-cpp copies between the sequences of a context for a feature of its own, and has no public method for it
 * but files on the disk (3.22). Without this one, each sequence evaluates its own prompt.
 */
interface Copying {
  _copyStateFromOtherSequence?(from: LlamaContextSequence, tokens: number): Promise<boolean>;
}

/** How many tokens two prompts begin with in common. */
export function sharedTokens(one: readonly number[], other: readonly number[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count += 1;
  return count;
}

/** Whether it is worth to take over `shared` tokens of a prompt instead of the `known` ones. */
export const isWorthCopying = (shared: number, known: number): boolean => shared - known >= worthTokens;

/** Whether a sequence can take over what others of its context have evaluated. */
export const canCopy = (sequence: LlamaContextSequence): boolean =>
  // The states of sliding windows and recurrent models cannot be shortened to what two prompts have in common.
  !sequence.needsCheckpoints && '_copyStateFromOtherSequence' in sequence;

/** Replaces what a sequence holds by the first tokens of another one of its context. */
export async function copyTokens(
  from: LlamaContextSequence,
  to: LlamaContextSequence & Copying,
  tokens: number,
): Promise<void> {
  // It then evaluates the prompt from the beginning.
  if (!(await to._copyStateFromOtherSequence?.(from, tokens))) await to.clearHistory();
}
