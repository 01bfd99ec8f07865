/** Adapters of one file: their contexts are bounded, and so is what the engine loads. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppError } from '../../src/errors.ts';
import type { Engine, GenerateRequest } from '../../src/inference/engine/engine.ts';
import { needsOf } from '../../src/inference/engine/memory-needs.ts';
import { writeTinyAdapter, writeTinyGguf } from '../native/tiny-gguf.ts';
import { ownEngine } from './own-engine.ts';

/** Free memory, as the engine is told. */
let free: number | null = null;
const { folder, templatePath, engine, end } = ownEngine({ maxLoaded: 2, available: async () => free });
const base = join(folder, 'base.gguf');
const second = join(folder, 'second.gguf');
const adapters = [1, 2, 3].map((seed) => join(folder, `${seed}.gguf`));

const ask = (adapter: number | null, changes: Partial<GenerateRequest> = {}): GenerateRequest => ({
  ...{ modelKey: base, ggufPath: base, templatePath, input: { kind: 'text', text: 'a'.repeat(40) } },
  ...{ adapters: adapter === null ? [] : [{ path: adapters[adapter] as string, scale: 1 }] },
  ...{ maxTokens: 2, temperature: 0, topP: 1, ...changes },
});
const other = { modelKey: second, ggufPath: second };

test.before(() => {
  for (const path of [base, second]) writeTinyGguf(path, { context: 2048 });
  for (const [index, path] of adapters.entries()) writeTinyAdapter(path, index * 100 + 1);
});
test.after(end);

test('an idle context makes room for that of another adapter, and one that runs does not', async () => {
  const cached = async (adapter: number) => (await engine.generate(ask(adapter))).cachedTokens;
  await cached(0);
  assert.ok((await cached(0)) > 30, 'it keeps its tokens');
  // A context of 2,048 tokens takes 4 MB, and the weights 6 MB.
  await cached(1);
  assert.is(await cached(0), 0, 'its context was closed');
  const stop = new AbortController();
  const long = new Promise<{ answer: ReturnType<Engine['generate']> }>((resolve, reject) => {
    const onText = () => resolve({ answer });
    const answer = engine.generate(ask(2, { maxTokens: 2000 }), { onText, signal: stop.signal });
    answer.then(onText, reject);
  });
  const { answer } = await long;
  await cached(0);
  await cached(1);
  stop.abort();
  const result = await answer;
  assert.ok(['aborted', 'length', 'stop'].includes(result.finishReason));
  assert.ok(result.generatedTokens > 0);
  const before = (await engine.generate(ask(2))).cachedTokens;
  assert.ok(before > 30, 'its context is still there');
});

test('a model that does not fit is refused with both numbers, and what is idle makes room', async () => {
  const { weights, context } = await needsOf(second);
  assert.is(weights, statSync(second).size);
  // Of each token 256 keys and values at 16 bits, in two layers.
  assert.is(context, 2 * 2 * 256 * 2 * 2048);
  free = weights + context - 1;
  const refused = await engine.generate(ask(null, other)).then(
    () => null,
    (error: unknown) => error,
  );
  assert.instance(refused, AppError);
  assert.is((refused as AppError).kind, 'unavailable');
  assert.match((refused as AppError).message, /second\.gguf takes 0\.01 GB of memory, and 0\.01 GB are free/);
  assert.not(engine.isLoaded(base), 'the idle one was unloaded first');
  free += 1;
  assert.is((await engine.generate(ask(null, other))).generatedTokens, 2);
  // Only one of them fits.
  assert.is((await engine.generate(ask(0))).generatedTokens, 2);
  assert.not(engine.isLoaded(second));
  assert.is(await engine.freeMemory(), free);
});

test.run();
