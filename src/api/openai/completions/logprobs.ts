import * as v from 'valibot';
import type { RatedToken, TokenChoice } from '../../../domain/playground/playground.ts';

const rated = { token: v.string(), logprob: v.number(), bytes: v.nullable(v.array(v.number())) };

/** Log-probabilities (natural logarithms) in a chat completion: one entry per token. */
export const chatLogprobs = v.object({
  content: v.array(v.object({ ...rated, top_logprobs: v.array(v.object(rated)) })),
  refusal: v.null(),
});

/** Log-probabilities in a text completion: a list of each property. */
export const textLogprobs = v.object({
  tokens: v.array(v.string()),
  /** `null` for the first token of a prompt, which follows nothing. */
  token_logprobs: v.array(v.nullable(v.number())),
  top_logprobs: v.array(v.nullable(v.record(v.string(), v.number()))),
  text_offset: v.array(v.number()),
});

/** Only the first token of a text completion's prompt has no probability. */
const isRated = (token: TokenChoice): token is TokenChoice & RatedToken => token.logprob !== null;

const presentToken = ({ text, logprob, bytes }: RatedToken) => ({ token: text, logprob, bytes });

export const presentChatLogprobs = (tokens: readonly TokenChoice[]): v.InferOutput<typeof chatLogprobs> => ({
  content: tokens
    .filter(isRated)
    .map((token) => ({ ...presentToken(token), top_logprobs: token.top.map(presentToken) })),
  refusal: null,
});

/** A token's text, or its bytes as OpenAI writes them where they are no complete text. */
const nameOf = ({ text, bytes }: Pick<RatedToken, 'text' | 'bytes'>): string =>
  text.includes('\uFFFD')
    ? `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`
    : text;

/** A byte that is not the first of its character in UTF-8. */
const continues = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/**
 * Presents the tokens of a text completion, in one or several parts. `text_offset` is the place in the text at which a
 * token begins, in characters; `top_logprobs` always has the chosen token, which may not be among the most likely ones.
 */
export function createTextLogprobs() {
  let characters = 0;
  return (tokens: readonly TokenChoice[]): v.InferOutput<typeof textLogprobs> => ({
    tokens: tokens.map(nameOf),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map((token) =>
      isRated(token)
        ? Object.fromEntries([...token.top, token].map((one) => [nameOf(one), one.logprob]))
        : null,
    ),
    text_offset: tokens.map(({ bytes }) => {
      const offset = continues(bytes[0]) ? Math.max(0, characters - 1) : characters;
      characters += bytes.filter((byte) => !continues(byte)).length;
      return offset;
    }),
  });
}
