import type { Token } from 'node-llama-cpp';
import type { RatedToken, TokenChoice } from '../protocol/generation.ts';
import { priorityOf, type Slot } from './contexts.ts';

/** The most tokens of a prompt that are rated in one step: each needs memory for a number per token of the vocabulary. */
const ratedTogether = 64;

const present = (token: Token, bytes: Uint8Array) => ({
  token: token as number,
  text: new TextDecoder().decode(bytes),
  bytes: [...bytes],
});

/**
 * Evaluates the next `count` tokens of a prompt, which must not be its last, and rates those that follow each of them.
 *
 * @param most how many of the likeliest tokens are told in the place of each
 * @param bytesOf the bytes of a token at a position of the prompt
 */
async function rateNext(
  slot: Slot,
  prompt: readonly Token[],
  count: number,
  most: number,
  bytesOf: (token: Token, at: number) => Uint8Array,
): Promise<TokenChoice[]> {
  const { sequence } = slot;
  const from = sequence.nextTokenIndex;
  const outputs = await sequence.controlledEvaluate(
    prompt.slice(from, from + count).map((token, index) => {
      const filter = { tokens: [prompt[from + index + 1] as Token], includeMax: true, includeTop: most };
      return [token, { generateNext: { logits: { filter }, totalLogitWeight: true } }];
    }),
    { evaluationPriority: priorityOf(slot) },
  );
  return outputs.map((output, index) => {
    const at = from + index + 1;
    const { logits, totalLogitWeight: weight } = output?.next ?? {};
    const token = prompt[at] as Token;
    const logit = logits?.get(token);
    if (logits === undefined || weight === undefined || logit === undefined)
      throw new Error('The engine returned no logits.');
    // The weight is the sum of exp(logit − largest) over the vocabulary.
    const sorted = [...logits].sort(([, one], [, other]) => other - one);
    const normalizer = (sorted[0]?.[1] as number) + Math.log(weight);
    const rate = (of: Token, value: number): RatedToken => ({
      ...present(of, bytesOf(of, at)),
      logprob: Math.min(0, value - normalizer),
    });
    return {
      ...rate(token, logit),
      top: sorted.slice(0, most).map(([one, value]) => rate(one, value)),
    };
  });
}

/** The probabilities of a prompt's tokens, for which all of it is evaluated. */
export interface PromptRating {
  /** The tokens that are rated so far. */
  readonly choices: readonly TokenChoice[];
  /** Whether only the last token is left, which is evaluated with the answer. */
  isComplete(): boolean;
  /** Evaluates and rates up to `count` tokens. */
  evaluate(count: number): Promise<void>;
}

/** @param most how many of the likeliest tokens are told in the place of each */
export function createPromptRating(
  slot: Slot,
  prompt: readonly Token[],
  most: number,
  bytesOf: (token: Token, before: readonly Token[]) => Uint8Array,
): PromptRating {
  const at = (token: Token, place: number) => bytesOf(token, prompt.slice(Math.max(0, place - 8), place));
  const first = prompt[0] as Token;
  // It follows nothing.
  const choices: TokenChoice[] = [{ ...present(first, at(first, 0)), logprob: null, top: [] }];
  return {
    choices,
    isComplete: () => choices.length === prompt.length,
    async evaluate(count) {
      const part = Math.min(count, ratedTogether, prompt.length - choices.length);
      choices.push(...(await rateNext(slot, prompt, part, most, at)));
    },
  };
}
