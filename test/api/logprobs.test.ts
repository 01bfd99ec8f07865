/** The log-probabilities of a text completion, where a character has several tokens. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTextLogprobs } from '../../src/api/openai/completions/logprobs.ts';
import type { RatedToken, TokenChoice } from '../../src/domain/playground/playground.ts';

const rated = (text: string, logprob: number, bytes = [...Buffer.from(text)]): RatedToken => ({
  ...{ token: 1, text, bytes, logprob },
});
const choice = (token: RatedToken, top: RatedToken[] = []): TokenChoice => ({ ...token, top });

test('offsets count characters, over all parts; bytes that are no text are told as bytes', () => {
  const present = createTextLogprobs();
  const [first, second, third] = [...Buffer.from('😀')].map((byte) => rated('\uFFFD', -1, [byte]));
  const parts = [
    present([choice(rated('Zoë', -0.5)), choice(rated('€ ', -0.25))]),
    present([first, second, third].map((token) => choice(token as RatedToken))),
  ];
  assert.equal(parts[0]?.text_offset, [0, 3]);
  assert.equal(parts[1]?.text_offset, [5, 5, 5]);
  assert.equal(parts[1]?.tokens, ['bytes:\\xf0', 'bytes:\\x9f', 'bytes:\\x98']);
});

test('the chosen token is always among the likely ones', () => {
  const { top_logprobs, token_logprobs } = createTextLogprobs()([
    choice(rated('b', -2), [rated('a', -0.1)]),
    choice(rated('a', -0.1), [rated('a', -0.1)]),
  ]);
  assert.equal(top_logprobs, [{ a: -0.1, b: -2 }, { a: -0.1 }]);
  assert.equal(token_logprobs, [-2, -0.1]);
});

test.run();
