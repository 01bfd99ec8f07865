/** The most requests that one model answers at a time. */
export const mostRunning = 8;
/** A long prompt is evaluated in parts of at most this many tokens; a request can be aborted between them. */
export const promptChunkTokens = 512;
/** The same for the prompts of several requests together, and beside answers, which wait for each part. */
const chunkTogether = 256;
const chunkBesideAnswers = 128;
/** The most tokens of a step with drafts. */
const stepWithDrafts = 16;

/**
 * How many tokens each answer may draft for the next step. Drafts make a step longer for all in it, so there are none
 * unless every request has some.
 *
 * @param wanted for each request the tokens that it would draft
 */
export function draftLimit(wanted: readonly number[]): number {
  if (wanted.some((tokens) => tokens === 0)) return 0;
  return Math.max(0, Math.floor(stepWithDrafts / wanted.length) - 1);
}

/**
 * How many tokens each request evaluates in the next step. Short prompts are not kept waiting by long ones: the step is
 * divided equally, and what a short one leaves goes to the others.
 *
 * @param left for each request the tokens of its prompt that are left, or 1 if it continues its answer
 */
export function tokenBudgets(left: readonly number[]): number[] {
  const shares = left.map((tokens) => Math.min(tokens, 1));
  const prompts = left.flatMap((tokens, index) => (tokens > 1 ? [index] : []));
  const isAlone = left.length === 1;
  let budget = isAlone
    ? promptChunkTokens
    : prompts.length < left.length
      ? chunkBesideAnswers
      : chunkTogether;
  prompts.sort((one, other) => (left[one] as number) - (left[other] as number));
  for (const [place, index] of prompts.entries()) {
    const share = Math.min(left[index] as number, Math.max(1, Math.floor(budget / (prompts.length - place))));
    shares[index] = share;
    budget -= share;
  }
  return shares;
}
