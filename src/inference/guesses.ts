import type { Token } from 'node-llama-cpp';

/** So many tokens in a row that occurred before are expected to go on as they did then. */
const matchTokens = 2;
/** More than any vocabulary has, so that as many tokens make one whole number. */
const mostTokens = 2 ** 24;
/**
 * What one more token in a step costs, as a share of a step of one token: 0.2 to 0.7 were measured, depending on
 * the weights and the threads (bench/README.md, "Steps of several tokens").
 */
const tokenCost = 0.5;
/** The weight of the latest guess in the share of right ones: about the last eight count. */
const latestWeight = 1 / 4;
/** Before the first guess. */
const expectedShare = 0.5;
/** Keeps the number of guesses finite. */
const mostShare = 0.98;

/**
 * Guesses how an answer goes on: as the prompt, or the answer itself, did after the same tokens. Summaries and
 * extractions copy much, free text little. Each token shows whether a guess would have been right, also while none is
 * evaluated, so guessing begins and ends by itself.
 */
export interface Guesses {
  /** Tells the next token of the answer. */
  add(token: Token): void;
  /** The tokens that are expected next and worth to be evaluated along; at most `most`. */
  next(most: number): Token[];
}

/** @param prompt tokens before the answer */
export function createGuesses(prompt: readonly Token[]): Guesses {
  const tokens: Token[] = [];
  /** Tokens in a row, with the place of the one that came after them last. */
  const followers = new Map<number, number>();
  /** The place of the token that is expected next, or −1. */
  let expected = -1;
  let rightShare = expectedShare;

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
        rightShare += latestWeight * ((isRight ? 1 : 0) - rightShare);
        expected = isRight ? expected + 1 : -1;
      }
      append(token);
      if (expected < 0) expected = followers.get(ending()) ?? -1;
    },
    next(most) {
      if (expected < 0 || most <= 0) return [];
      // The guess in place n is right with the n-th power of the share; it must be worth its cost.
      const worth = Math.floor(Math.log(tokenCost) / Math.log(Math.min(rightShare, mostShare)));
      return tokens.slice(expected, expected + Math.min(most, worth));
    },
  };
}
