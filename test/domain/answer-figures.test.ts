import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAnswerFigures, otherModels } from '../../src/domain/playground/answer-figures.ts';
import type { GenerateResult } from '../../src/inference/engine/engine.ts';

const answer = (changes: Partial<GenerateResult> = {}) =>
  ({
    finishReason: 'stop',
    promptTokens: 10,
    cachedTokens: 4,
    generatedTokens: 21,
    timeToFirstTokenMs: 100,
    durationMs: 1_100,
    ...changes,
  }) as GenerateResult;

test('answers are counted by model and by how they ended', async () => {
  const figures = createAnswerFigures();
  assert.equal(figures.latest(), { firstTokenMs: null, tokensPerSecond: null });
  await figures.counted('a', async () => answer());
  await figures.counted('a', async () => answer({ finishReason: 'length', lookedUpTokens: 3 }));
  const failing = figures.counted('a', () => Promise.reject(new Error('no memory')));
  assert.is(await failing.catch((error: Error) => error.message), 'no memory');
  assert.equal(figures.counts().get('a'), {
    requests: { stop: 1, length: 1, aborted: 0, failed: 1 },
    promptTokens: 20,
    cachedTokens: 8,
    generatedTokens: 42,
    lookedUpTokens: 3,
  });
});

test('speed is that after the first token, and an answer without a token has none', async () => {
  const figures = createAnswerFigures();
  await figures.counted('a', async () => answer({ generatedTokens: 0 }));
  assert.equal(figures.latest(), { firstTokenMs: null, tokensPerSecond: null });
  assert.is(figures.firstTokens().count, 0);
  // One token, and nothing after it.
  await figures.counted('a', async () => answer({ generatedTokens: 1, durationMs: 100 }));
  assert.equal(figures.latest(), { firstTokenMs: 100, tokensPerSecond: null });
  await figures.counted('a', async () => answer({ timeToFirstTokenMs: 300, durationMs: 1_300 }));
  assert.equal(figures.latest(), { firstTokenMs: 300, tokensPerSecond: 20 });
  const { buckets, count, sumSeconds } = figures.firstTokens();
  assert.equal([count, sumSeconds, buckets.slice(0, 4)], [2, 0.4, [0, 1, 1, 2]]);
});

test('only the first models are counted by name', async () => {
  const figures = createAnswerFigures();
  for (let number = 0; number < 60; number++) await figures.counted(`m${number}`, async () => answer());
  assert.is(figures.counts().size, 51);
  assert.is(figures.counts().get(otherModels)?.requests.stop, 10);
});

test.run();
