import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppError } from '../../src/errors.ts';
import { createEngine, type Engine, type GenerateRequest } from '../../src/inference/engine/engine.ts';
import { childrenOf } from '../children.ts';
import { root } from '../folders.ts';
import { type Fixture, makeFixture } from './fixture.ts';

const workerPath = join(root, 'dist', 'inference-worker.js');
// Children are forked with it, and the built worker needs no loader of TypeScript, which takes longer than the worker.
process.execArgv = [];
const logger = { debug() {}, info() {}, warn() {} };

let fixture: Fixture;
let engine: Engine;

function create(options: { idleMs?: number; maxLoaded?: number } = {}): Engine {
  return createEngine({
    workerPath,
    gpu: false,
    idleMs: 600_000,
    silenceMs: 600_000,
    stallMs: 600_000,
    maxLoaded: 2,
    maxPending: 64,
    logger,
    ...options,
  });
}

function request(index: number, changes: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    modelKey: 'model',
    ggufPath: fixture.gguf,
    templatePath: fixture.template,
    input: { kind: 'messages', messages: fixture.expected[index]?.messages ?? [] },
    maxTokens: 24,
    temperature: 0,
    topP: 1,
    ...changes,
  };
}

/** Process ids of this process's children that run models. */
const children = () => childrenOf(process.pid, 'inference-worker.js');

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}

async function failure(promise: Promise<unknown>): Promise<AppError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('It did not fail.');
}

test.before(async () => {
  process.env.HUB_TOKEN = 'canary-of-the-hub';
  fixture = await makeFixture('llama');
  engine = create();
});

test.after(async () => {
  await engine.close();
  await fixture.remove();
});

test('answers as transformers does, as the tuned model and as the base', async () => {
  let clear = 0;
  for (const [index, { ids, tuned, base }] of fixture.expected.entries()) {
    const asBase = { adapters: [{ path: fixture.adapter, scale: -1 }] };
    for (const [said, changes] of [[tuned, {}] as const, [base, asBase] as const]) {
      const result = await engine.generate(
        request(index, { ...changes, maxTokens: Math.max(1, said.clear) }),
      );
      assert.is(result.promptTokens, ids.length);
      if (said.clear === said.ids.length) {
        // a character that the last token leaves unfinished is not shown
        assert.is(result.text, said.text.slice(0, result.text.length));
        assert.ok(said.text.length - result.text.length <= 1);
        assert.is(result.generatedTokens, said.ids.length);
        clear += said.clear;
      }
    }
  }
  assert.ok(clear >= 12, 'too few clear answers to compare');
});

test('embeddings are the hidden states of transformers, also from a file in 16 bits', async () => {
  const half = join(fixture.directory, 'model-F16.gguf');
  execFileSync(process.execPath, [join(root, 'dist', 'quantize.js'), fixture.gguf, half, 'F16']);
  const inputs = fixture.expected.map(({ ids }) => ids);
  for (const ggufPath of [fixture.gguf, half]) {
    const files = { modelKey: ggufPath, ggufPath, templatePath: fixture.template };
    const { embeddings, promptTokens } = await engine.embed({ ...files, inputs });
    assert.is(promptTokens, inputs.flat().length);
    for (const [index, { hidden, prompt }] of fixture.expected.entries()) {
      // The first has length 1.
      const product = hidden.reduce((sum, value, at) => sum + value * (embeddings[index]?.[at] as number), 0);
      const cosine = product / Math.hypot(...hidden);
      assert.ok(cosine >= 0.999 && cosine < 1.001, `${prompt}: ${cosine}`);
    }
    await engine.unload(ggufPath);
  }
});

test('the same seed gives the same answer, and temperature 0 always does', async () => {
  const [first, again] = [await engine.generate(request(0)), await engine.generate(request(0))];
  assert.is(first.text, again.text);
  const sampled = { temperature: 1, topP: 0.9, seed: 5 };
  const one = await engine.generate(request(0, sampled));
  assert.is((await engine.generate(request(0, sampled))).text, one.text);
  const other = await engine.generate(request(0, { ...sampled, seed: 6 }));
  assert.is.not(other.text, one.text);
});

test('deltas add up to the text, and counts are exact', async () => {
  let streamed = '';
  const result = await engine.generate(request(1, { maxTokens: 9 }), {
    onText: (delta) => (streamed += delta),
  });
  assert.is(streamed, result.text);
  assert.is(result.generatedTokens, 9);
  assert.is(result.finishReason, 'length');
  assert.ok(result.durationMs >= result.timeToFirstTokenMs);
});

test('an answer that was cut goes on with the tokens that it would have had', async () => {
  let same = 0;
  for (const [index, { ids, messages }] of fixture.expected.entries()) {
    const whole = await engine.generate(request(index, { maxTokens: 12 }));
    for (const cut of [3, 6]) {
      const { text } = await engine.generate(request(index, { maxTokens: cut }));
      const begun = { messages: [...messages, { role: 'assistant', content: text }], continues: true };
      const input = { kind: 'messages', ...begun } as const;
      const rest = await engine.generate(request(index, { input, maxTokens: 12 - cut }));
      // An answer of a model that has learned nothing may have other tokens than its text.
      if (rest.promptTokens !== ids.length + cut) continue;
      assert.is(text + rest.text, whole.text);
      same += 1;
    }
  }
  assert.ok(same > 0, 'no answer has the tokens of its text');
});

test('stops at a string of the caller and does not return it', async () => {
  const whole = (await engine.generate(request(3))).text;
  const stop = whole.slice(4, 7);
  const at = whole.indexOf(stop);
  const cut = await engine.generate(request(3, { stop: [stop] }));
  assert.is(cut.stoppedAt, stop);
  assert.is(cut.text, whole.slice(0, at));
  assert.is(cut.finishReason, 'stop');
});

test('special tokens and stop strings of the template never come out', async () => {
  for (let seed = 0; seed < 12; seed++) {
    const { text } = await engine.generate(request(0, { temperature: 2, seed, maxTokens: 64 }));
    assert.not.match(text, /<\/?s>|<\|im_|<pad>|<unk>|<mask>/);
  }
});

test('the cache of an earlier turn does not change answers', async () => {
  const first = fixture.expected[0]?.messages ?? [];
  const warm = await engine.generate(request(0, { maxTokens: 40 }));
  const turn = [...first, { role: 'assistant', content: warm.text }, { role: 'user', content: 'And now?' }];
  const input = { kind: 'messages' as const, messages: turn };
  const second = await engine.generate(request(0, { input }));
  const fresh = create();
  assert.is((await fresh.generate(request(0, { input }))).text, second.text);
  await fresh.close();
});

test('a raw text is continued as it stands', async () => {
  const entry = fixture.expected[0];
  const raw = await engine.generate(request(0, { input: { kind: 'text', text: entry?.prompt ?? '' } }));
  assert.is(raw.promptTokens, entry?.ids.length);
  assert.is(raw.text, (await engine.generate(request(0))).text);
});

test('a prompt longer than the context is refused with both numbers', async () => {
  const long = 'The parcel has not come. '.repeat(200);
  const error = await failure(engine.generate(request(0, { input: { kind: 'text', text: long } })));
  assert.is(error.kind, 'invalid');
  assert.match(error.message, /has \d+ tokens.* holds 256/);
  assert.is((error.details as { contextTokens: number }).contextTokens, 256);
});

test('an answer ends with the context', async () => {
  const result = await engine.generate(request(0, { maxTokens: 100_000, temperature: 1.5, seed: 1 }));
  assert.ok(result.promptTokens + result.generatedTokens <= 256);
});

test('an abort ends an answer and leaves the model warm', async () => {
  const [child] = children();
  const controller = new AbortController();
  const result = await engine.generate(request(0, { maxTokens: 200, temperature: 1, seed: 3 }), {
    signal: controller.signal,
    onText: () => controller.abort(),
  });
  assert.is(result.finishReason, 'aborted');
  assert.ok(result.generatedTokens < 200);
  assert.is(children()[0], child);
  assert.is((await engine.generate(request(0))).finishReason, 'length');
});

test('an abort of a waiting request does not wait for the one before', async () => {
  const controller = new AbortController();
  const finished: string[] = [];
  const before = engine
    .generate(request(0, { maxTokens: 200, temperature: 1, seed: 3 }))
    .then(() => finished.push('before'));
  const waiting = engine.generate(request(1), { signal: controller.signal }).then((result) => {
    finished.push(result.finishReason);
  });
  controller.abort();
  await Promise.all([before, waiting]);
  assert.equal(finished, ['aborted', 'before']);
});

test('a killed child fails only its own request', async () => {
  const [child] = children();
  let killed = false;
  const error = await failure(
    engine.generate(request(0, { maxTokens: 200, temperature: 1, seed: 3 }), {
      onText: () => {
        if (!killed) process.kill(child as number, 'SIGKILL');
        killed = true;
      },
    }),
  );
  assert.is(error.kind, 'unavailable');
  assert.match(error.message, /ended by signal SIGKILL/);
  assert.is((await engine.generate(request(0, { maxTokens: 4 }))).generatedTokens, 4);
  assert.is.not(children()[0], child);
});

test('the child has no secrets in its environment', async () => {
  await engine.generate(request(0, { maxTokens: 1 }));
  const environment = `/proc/${children()[0]}/environ`;
  if (existsSync(environment)) assert.not.match(readFileSync(environment, 'utf8'), /canary|HUB_TOKEN/);
});

test('answers the same with one thread beside a training', async () => {
  const before = await engine.generate(request(1));
  engine.setTrainingActive(true);
  const during = await engine.generate(request(1));
  engine.setTrainingActive(false);
  assert.is(during.text, before.text);
});

test('an unloaded model is gone, and an idle one unloads itself', async () => {
  await engine.generate(request(0, { maxTokens: 1 }));
  assert.ok(engine.isLoaded('model'));
  await engine.unload('model');
  assert.not(engine.isLoaded('model'));
  assert.is(children().length, 0);

  const brief = create({ idleMs: 30 });
  await brief.generate(request(0, { maxTokens: 1 }));
  await until(() => !brief.isLoaded('model'));
  await until(() => children().length === 0);
  await brief.close();
});

test('unloading fails what is being answered', async () => {
  let unloading: Promise<void> | undefined;
  const error = await failure(
    engine.generate(request(0, { maxTokens: 200, temperature: 1, seed: 3 }), {
      onText: () => {
        unloading ??= engine.unload('model');
      },
    }),
  );
  await unloading;
  assert.is(error.kind, 'conflict');
});

test('more models than may be loaded take turns', async () => {
  const small = create({ maxLoaded: 1 });
  const keys = ['a', 'b', 'a', 'c', 'b'];
  const texts = await Promise.all(
    keys.map((modelKey) => small.generate(request(0, { modelKey, maxTokens: 5 }))),
  );
  assert.is(new Set(texts.map(({ text }) => text)).size, 1);
  assert.is(children().length, 1);
  await small.close();
  assert.is(children().length, 0);
  assert.is((await failure(small.generate(request(0)))).kind, 'unavailable');
});

test('damaged files are refused, and the next request is served', async () => {
  const bad = join(fixture.directory, 'bad.gguf');
  const { length } = readFileSync(fixture.gguf);
  for (const keep of [0, 3, 64, 5000, Math.floor(length / 2), length - 1]) {
    copyFileSync(fixture.gguf, bad);
    truncateSync(bad, keep);
    const error = await failure(engine.generate(request(0, { modelKey: `cut ${keep}`, ggufPath: bad })));
    assert.is(error.kind, 'invalid', `${keep} bytes: ${error.message}`);
  }
  writeFileSync(bad, 'This is no model.');
  assert.is(
    (await failure(engine.generate(request(0, { modelKey: 'text', ggufPath: bad })))).kind,
    'invalid',
  );
  const missing = request(0, { modelKey: 'missing', ggufPath: join(fixture.directory, 'none.gguf') });
  assert.is((await failure(engine.generate(missing))).kind, 'not_found');
  const adapter = request(0, { modelKey: 'adapter', ggufPath: fixture.adapter });
  assert.is((await failure(engine.generate(adapter))).kind, 'invalid');
  assert.is((await engine.generate(request(0, { maxTokens: 2 }))).generatedTokens, 2);
});

test('a broken template is refused', async () => {
  const templatePath = join(fixture.directory, 'broken.json');
  writeFileSync(templatePath, '{"chat_template": "{% if %}"}');
  const error = await failure(engine.generate(request(0, { modelKey: 'broken', templatePath })));
  assert.is(error.kind, 'invalid');
});

test.run();
