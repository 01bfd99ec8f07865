import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { threadsFor } from '../../src/inference/worker/threads.ts';

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

test('beside busy processes one context uses one thread, and several divide the cores', () => {
  const step = { bytes: 300 * megabyte, tokens: 4, cores: 4, trainingActive: false, isContended: true };
  assert.equal(threadsFor(step), 1);
  assert.equal(threadsFor({ ...step, contexts: 2 }), 4);
  assert.equal(threadsFor({ ...step, contexts: 2, trainingActive: true }), 1);
});

test.run();
