/** The engine of models without a GGUF, with a program that speaks as its processes do. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AppError } from '../../src/errors.ts';
import {
  createTrainedEngine,
  type TrainedEngine,
  type TrainedRequest,
} from '../../src/inference/engine/trained-engine.ts';
import { root } from '../folders.ts';

const program = join(root, 'test', 'inference', 'answering.mjs');
const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };
let processes: ChildProcess[] = [];
let engine: TrainedEngine;

function create(changes: { idleMs?: number; silenceMs?: number } = {}): TrainedEngine {
  return createTrainedEngine({
    ...{ idleMs: 600_000, silenceMs: 600_000, stallMs: 600_000, maxPending: 3, logger },
    program: async () => () => {
      const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'pipe'] });
      processes.push(child);
      return child;
    },
    ...changes,
  });
}

const request = (text: string, modelKey = 'model', name = 'base'): TrainedRequest => ({
  modelKey,
  templatePath: 'template.json',
  trained: { base: { name, path: null }, task: 't', strategy: 's', settings: {}, scratch: 'x' },
  input: { kind: 'text', text },
  ...{ maxTokens: 8, temperature: 0, topP: 1 },
});
const told = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: AppError) => error,
  );

test.before.each(() => {
  processes = [];
  engine = create();
});
test.after.each(() => engine.close());

test('a process answers several requests, with pieces, and is kept', async () => {
  const pieces: string[] = [];
  const { text } = await engine.generate(request('one two'), { onText: (piece) => pieces.push(piece) });
  assert.is(text, 'one two');
  assert.equal(pieces, ['one', 'two']);
  await engine.generate(request('three'));
  assert.is(processes.length, 1);
  assert.ok(engine.isLoaded('model'));
});

test('a crash is told to every open request, and the next one starts a new process', async () => {
  await engine.generate(request('one'));
  const held = told(engine.generate(request('hold')));
  const crashed = told(engine.generate(request('crash')));
  for (const error of [await held, await crashed]) {
    assert.is(error?.kind, 'unavailable');
    assert.match(error?.message ?? '', 'ended by signal SIGKILL');
  }
  assert.is((await engine.generate(request('again'))).text, 'again');
  assert.is(processes.length, 2);
});

test('a process that sends what is no message is ended and told', async () => {
  const error = await told(engine.generate(request('garbled')));
  assert.is(error?.kind, 'unavailable');
  assert.match(error?.message ?? '', 'sent a message that is not in its protocol');
  assert.is((await engine.generate(request('again'))).text, 'again');
});

test('a silent process is ended and told, and the next request starts a new one', async () => {
  await engine.close();
  engine = create({ silenceMs: 2_000 });
  const error = await told(engine.generate(request('silent')));
  assert.match(error?.message ?? '', 'gave no sign of life for 2 s');
  assert.is((await engine.generate(request('again'))).text, 'again');
});

test('a model that cannot be loaded says why to every request', async () => {
  const all = [1, 2].map(() => told(engine.generate(request('one', 'model', 'gone'))));
  for (const error of await Promise.all(all)) assert.is(error?.message, 'The base model is gone.');
  assert.is((await engine.generate(request('one'))).text, 'one');
});

test('another model waits for the one that answers, whose process then ends', async () => {
  const held = engine.generate(request('hold'));
  const other = engine.generate(request('other', 'second'));
  await engine.generate(request('release'));
  assert.is((await held).text, 'held');
  assert.is((await other).text, 'other');
  assert.not(engine.isLoaded('model'));
  assert.is(processes[0]?.signalCode, 'SIGKILL');
});

test('a request that is aborted while it waits for another model is answered as aborted', async () => {
  const held = engine.generate(request('hold'));
  const abort = new AbortController();
  const other = engine.generate(request('other', 'second'), { signal: abort.signal });
  abort.abort();
  assert.is((await other).finishReason, 'aborted');
  await engine.generate(request('release'));
  assert.is((await held).text, 'held');
  assert.is(processes.length, 1);
});

test('what only llama.cpp does is refused by name', async () => {
  const error = await told(engine.generate({ ...request('one'), logprobs: 2, presencePenalty: 1 }));
  assert.match(error?.message ?? '', 'supports logprobs, presence_penalty');
  assert.is(processes.length, 0);
});

test('no more than a number of requests wait', async () => {
  const held = [1, 2, 3].map(() => told(engine.generate(request('hold'))));
  assert.is((await told(engine.generate(request('late'))))?.kind, 'too_many');
  await engine.unload('model');
  for (const error of await Promise.all(held)) assert.is(error?.kind, 'conflict');
  assert.is((await engine.generate(request('again'))).text, 'again');
});

test('an idle model is unloaded; one that is unloaded or closed tells its requests', async () => {
  await engine.close();
  engine = create({ idleMs: 1 });
  await engine.generate(request('one'));
  const [idle] = processes as [ChildProcess];
  if (idle.signalCode === null) await once(idle, 'exit');
  assert.not(engine.isLoaded('model'));
  const held = told(engine.generate(request('hold')));
  await engine.unload('model');
  assert.is((await held)?.kind, 'conflict');
  const last = told(engine.generate(request('hold')));
  await engine.close();
  assert.is((await last)?.kind, 'unavailable');
  assert.is((await told(engine.generate(request('late'))))?.kind, 'unavailable');
});

test.run();
