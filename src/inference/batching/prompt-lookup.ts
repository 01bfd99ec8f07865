import type { Token } from 'node-llama-cpp';

/** So many tokens in a row that occurred before are expected to go on as they did then. */
const matchTokens = 2;
/** More than any vocabulary has, so that as many tokens make one whole number. */
const mostTokens = 2 ** 24;
/**
 * What a step of several tokens costs, in steps of one token: a part of its own, since it takes another way through
 * llama.cpp, and one for each token (bench/LOG.md, "Steps of several tokens").
 */
const severalCost = 1.4;
const tokenCost = 0.4;
/** How much of the count of guesses is kept at each one: about the last 32 count. */
const kept = 31 / 32;
/** The shares of right guesses that are assumed before the first one: where copying may begin, and where it goes on. */
const assumed = { first: 0.5, further: 0.9 };

/**
 * Guesses how an answer goes on: as the prompt, or the answer itself, did after the same tokens. Summaries and
 * extractions copy much, free text little. Each token shows whether a guess would have been right, also while none is
 * evaluated, so guessing begins and ends by itself.
 */
export interface PromptLookup {
  /** Tells the next token of the answer. */
  add(token: Token): void;
  /** The tokens that are expected next and worth to be evaluated along; at most `most`. */
  next(most: number): Token[];
}

interface Counts {
  right: number;
  all: number;
}
const countsFrom = (share: number): Counts => ({ right: share, all: 1 });

/** @param prompt tokens before the answer */
export function createPromptLookup(prompt: readonly Token[]): PromptLookup {
  const tokens: Token[] = [];
  /** Tokens in a row, with the place of the one that came after them last. */
  const followers = new Map<number, number>();
  /** The place of the token that is expected next, or −1. */
  let expected = -1;
  /** Whether the last token was right, so that the expected one would be copied in a row. */
  let isCopying = false;
  const seen = { first: countsFrom(assumed.first), further: countsFrom(assumed.further) };
  const shareOf = ({ right, all }: Counts) => right / all;

  const ending = () => tokens.slice(-matchTokens).reduce((key, token) => key * mostTokens + token, 0);
  function append(token: Token): void {
    if (tokens.length >= matchTokens) followers.set(ending(), tokens.length);
    tokens.push(token);
  }
  for (const token of prompt) append(token);

  return {
    add(token) {
      if (expected >= 0) {
        const isRight = tokens[expected] === token;
        const counts = isCopying ? seen.further : seen.first;
        counts.all = counts.all * kept + 1;
        counts.right = counts.right * kept + (isRight ? 1 : 0);
        isCopying = isRight;
        expected = isRight ? expected + 1 : -1;
      }
      append(token);
      if (expected < 0) expected = followers.get(ending()) ?? -1;
    },
    next(most) {
      if (expected < 0) return [];
      // A guess can only be right if those before it are.
      let chance = shareOf(isCopying ? seen.further : seen.first);
      let answered = 1;
      let bestRate = 1;
      let worth = 0;
      for (let count = 1; count <= Math.min(most, tokens.length - expected); count++) {
        answered += chance;
        chance *= shareOf(seen.further);
        const rate = answered / (severalCost + tokenCost * (1 + count));
        if (rate <= bestRate) continue;
        bestRate = rate;
        worth = count;
      }
      return tokens.slice(expected, expected + worth);
    },
  };
}
