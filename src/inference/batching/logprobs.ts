import type { Token } from 'node-llama-cpp';
import type { RatedToken, TokenChoice } from '../protocol/generation.ts';

/**
 * Rates a token and the `most` likely ones. The probabilities are those that it was sampled from; they are told as at
 * temperature 1, among the tokens that top_p kept.
 *
 * @param probabilities in descending order
 * @param temperature 0 if the most likely token was taken, which leaves the probabilities as they are
 */
export function choiceOf(
  token: Token,
  probabilities: ReadonlyMap<Token, number>,
  temperature: number,
  most: number,
  bytesOf: (token: Token) => Uint8Array,
): TokenChoice {
  const power = temperature === 0 ? 1 : temperature;
  let sum = 0;
  for (const probability of probabilities.values()) sum += probability ** power;
  const rate = (of: Token, probability: number): RatedToken => {
    const bytes = bytesOf(of);
    return {
      token: of,
      text: new TextDecoder().decode(bytes),
      bytes: [...bytes],
      // A probability below the smallest number is 0.
      logprob: Math.min(0, power * Math.log(Math.max(probability, 1e-45)) - Math.log(sum)),
    };
  };
  const top: RatedToken[] = [];
  for (const [of, probability] of probabilities) {
    if (top.length >= most) break;
    top.push(rate(of, probability));
  }
  return { ...rate(token, probabilities.get(token) ?? 0), top };
}
