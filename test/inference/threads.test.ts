import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { threadsFor } from '../../src/inference/threads.ts';

const threads = (bytes: number, tokens: number, trainingActive = false) =>
  threadsFor({ bytes, tokens, cores: 4, trainingActive });
const megabyte = 2 ** 20;

test('a step uses several threads when the model is large or many tokens are evaluated together', () => {
  assert.equal(threads(300 * megabyte, 1), 4);
  assert.equal(threads(50 * megabyte, 1), 1);
  assert.equal(threads(50 * megabyte, 8), 1);
  assert.equal(threads(50 * megabyte, 16), 4);
  assert.equal(threads(megabyte, 512), 1);
});

test('during a training a step uses one thread', () => {
  assert.equal(threads(300 * megabyte, 1, true), 1);
  assert.equal(threads(300 * megabyte, 512, true), 1);
});

test.run();
