import type { Token } from 'node-llama-cpp';

/** After this many tokens in a row that occurred before, those that followed them then are expected. */
const matchTokens = 2;
/** More than any vocabulary has, so that as many tokens make one whole number. */
const mostTokens = 2 ** 24;
/**
 * What a step of several tokens costs, in steps of one token: a part of its own, since it takes another way through
 * llama.cpp, and one for each token (bench/LOG.md, "Steps of several tokens").
 */
const severalCost = 1.4;
const tokenCost = 0.4;
/** The decay of the acceptance counts at each draft: about the last 32 count. */
const kept = 31 / 32;
/** The acceptance rates assumed before the first draft: where copying may begin, and where it continues. */
const assumed = { first: 0.5, further: 0.9 };

/**
 * Drafts the next tokens of an answer: those that followed the same tokens in the prompt or the answer. Summaries and
 * extractions copy much, free text little. Each token shows whether a draft would have been accepted, also while none is
 * evaluated, so drafting begins and ends by itself.
 */
export interface PromptLookup {
  /** Tells the next token of the answer. */
  add(token: Token): void;
  /** The tokens that are expected next and worth to be evaluated along; at most `most`. */
  next(most: number): Token[];
}

interface Counts {
  accepted: number;
  all: number;
}
const countsFrom = (rate: number): Counts => ({ accepted: rate, all: 1 });

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
  const rateOf = ({ accepted, all }: Counts) => accepted / all;

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
        counts.accepted = counts.accepted * kept + (isRight ? 1 : 0);
        isCopying = isRight;
        expected = isRight ? expected + 1 : -1;
      }
      append(token);
      if (expected < 0) expected = followers.get(ending()) ?? -1;
    },
    next(most) {
      if (expected < 0) return [];
      // A draft is only accepted if those before it are.
      let chance = rateOf(isCopying ? seen.further : seen.first);
      let answered = 1;
      let bestRate = 1;
      let worth = 0;
      for (let count = 1; count <= Math.min(most, tokens.length - expected); count++) {
        answered += chance;
        chance *= rateOf(seen.further);
        const rate = answered / (severalCost + tokenCost * (1 + count));
        if (rate <= bestRate) continue;
        bestRate = rate;
        worth = count;
      }
      return tokens.slice(expected, expected + worth);
    },
  };
}
