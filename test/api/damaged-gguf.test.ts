/** Damaged GGUF files get 4xx from everything that reads one, and the service stays up. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import WebSocket from 'ws';
import { AppError } from '../../src/errors.ts';
import { readGguf } from '../../src/inference/gguf/gguf.ts';
import { type Damaged, damagedGgufs, flippedGgufs } from '../native/damaged-gguf.ts';
import { endAll, type Json, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { type StoredModel, storeModel } from '../stored-model.ts';

let service: TestService;
let model: StoredModel;
/** A loaded model keeps its file, so each of these is written once. */
let flipped: StoredModel[];
let good: Buffer;
const frames: Json[] = [];
let socket: WebSocket;

test.before(async () => {
  const dataDir = temporaryFolder();
  model = storeModel(dataDir);
  flipped = ['a', 'b', 'c'].map((name) => storeModel(dataDir, name));
  good = readFileSync(model.gguf);
  service = await startService({ dataDir });
  socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
  socket.on('message', (data) => frames.push(JSON.parse(String(data))));
  await until(() => frames.length > 0, 'the socket greeted');
});
test.after(async () => {
  socket.close();
  await endAll();
});

const quantize = (type: string) => service.call('POST', `/api/models/${model.modelId}/quantize`, { type });
const ask = (modelId = model.modelId) =>
  service.call('POST', '/api/playground/new', {
    ...{ model_id: modelId, prompt: 'ab', max_length: 2, temperature: 0 },
  });

/** The files that our own check accepts, which reads sizes and offsets alone. */
async function acceptedOf(files: readonly Damaged[]): Promise<Damaged[]> {
  const path = join(temporaryFolder(), 'damaged.gguf');
  const accepted: Damaged[] = [];
  for (const file of files) {
    writeFileSync(path, file.bytes);
    const error = await readGguf(path).then(
      () => null,
      (thrown) => thrown,
    );
    if (error === null) accepted.push(file);
    else assert.ok(error instanceof AppError && error.kind === 'invalid', `${file.name}: ${error}`);
  }
  return accepted;
}

test('our own check finds most, and quantization refuses them', async () => {
  const files = damagedGgufs(good);
  const accepted = await acceptedOf(files);
  const refused = files.filter((file) => !accepted.includes(file));
  assert.ok(
    files.length >= 93 && accepted.length < 20,
    `${accepted.length} of ${files.length} were accepted`,
  );
  for (const { name, bytes } of refused) {
    writeFileSync(model.gguf, bytes);
    const { status, body } = await quantize('Q8_0');
    assert.is(status, 400, `A file that ${name}: ${JSON.stringify(body)}`);
    assert.match(body.detail, /model-F16\.gguf is damaged/);
    assert.not.match(body.detail, service.dataDir);
  }
});

test('what it does not find ends in a process of its own', async () => {
  for (const { name, bytes } of await acceptedOf(damagedGgufs(good))) {
    writeFileSync(model.gguf, bytes);
    const { status, body } = await ask();
    assert.is(status, 400, `A file that ${name}: ${JSON.stringify(body)}`);
    assert.not.match(body.detail, service.dataDir);
  }
  assert.is(service.process.exitCode, null);
});

test('quantization refuses what only llama.cpp finds, before it says that it started', async () => {
  // The other files that our own check accepts can be quantized, although they cannot be run.
  const wanted = ['an unknown architecture', 'two tensors in one place', 'a embedding_length of 0'];
  const files = (await acceptedOf(damagedGgufs(good))).filter(({ name }) => wanted.includes(name.slice(4)));
  assert.is(files.length, wanted.length);
  const seen = frames.length;
  for (const { name, bytes } of files) {
    writeFileSync(model.gguf, bytes);
    const { status, body } = await quantize('Q8_0');
    assert.is(status, 400, `A file that ${name}: ${JSON.stringify(body)}`);
    assert.match(body.detail, /not a readable GGUF|llama\.cpp cannot read the model/);
    assert.not.match(body.detail, service.dataDir);
  }
  assert.not.ok(frames.slice(seen).some(({ type }) => type === 'export'));
});

test('so do files with flipped bits, if they do not still answer', async () => {
  const seed = Number(process.env.HONE_SEED ?? 1);
  console.log(`seed ${seed}`);
  const files = flippedGgufs(good, seed, 200);
  const accepted = await acceptedOf(files);
  assert.ok(accepted.length < files.length, `seed ${seed}`);
  for (const [place, { gguf, modelId }] of flipped.entries()) {
    const { name, bytes } = accepted[place] as Damaged;
    writeFileSync(gguf, bytes);
    const { status, body } = await ask(modelId);
    assert.ok([200, 400].includes(status), `seed ${seed}: a file that ${name}: ${JSON.stringify(body)}`);
  }
  assert.is((await service.call('GET', '/api/health')).status, 200);
});

test('the whole file answers, and its model can be deleted', async () => {
  writeFileSync(model.gguf, good);
  assert.is((await ask()).status, 200);
  assert.is((await service.call('DELETE', `/api/models/${model.id}`)).status, 200);
});

test.run();
