/** A training whose export fails for real, and its model, which answers and is exported again from its adapter. */
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { installationWith } from '../installation.ts';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  until,
  untilEnded,
} from '../service.ts';

let service: TestService;
let modelId: string;

const installation = installationWith(`exec "${join(root, 'trainer', '.venv', 'bin', 'python')}" "$@"`);
const converter = join(installation, 'build', 'llama.cpp');
const entry = join(converter, 'conversion', '__init__.py');

test.before(async () => {
  rmSync(join(installation, 'build'));
  mkdirSync(join(installation, 'build'));
  for (const name of readdirSync(join(root, 'build'))) {
    if (name !== 'llama.cpp') symlinkSync(join(root, 'build', name), join(installation, 'build', name));
  }
  cpSync(join(root, 'build', 'llama.cpp'), converter, { recursive: true });
  service = await startService({ env: { HONE_INSTALL_DIR: installation } });
});
test.after(endAll);

const exportOf = async (): Promise<Json> => (await service.call('GET', `/api/models/${modelId}/export`)).body;
const modelFiles = () => readdirSync(join(service.dataDir, 'model_checkpoints', modelId));

/** Exports to types and returns what has become of all of them. */
async function exportTo(...quantizations: string[]): Promise<Json> {
  const { status, body } = await service.call('POST', `/api/models/${modelId}/export`, { quantizations });
  assert.is(status, 202, JSON.stringify(body));
  let found: Json;
  await until(async () => {
    found = await exportOf();
    return found.underway === null;
  }, 'the export has ended');
  return found;
}

async function answer(): Promise<string> {
  const { status, body } = await service.call('POST', '/v1/chat/completions', {
    ...{ model: modelId, messages: [{ role: 'user', content: 'My parcel has not come.' }] },
    ...{ max_tokens: 8, temperature: 0 },
  });
  assert.is(status, 200, JSON.stringify(body));
  return body.choices[0].message.content;
}

test('a converter that breaks during the training costs the GGUF file, not the model', async () => {
  await service.upload('support.jsonl', supportRows());
  const { body } = await service.call(
    'POST',
    '/api/finetune/start_training',
    quickRequest({ max_steps: 150 }),
  );
  const job = async (): Promise<Json> => (await service.call('GET', `/api/jobs/${body.job_id}`)).body;
  await until(async () => (await job()).phase === 'train', 'the training has begun');
  appendFileSync(entry, '\nraise ImportError("a part of the converter is missing")\n');
  await untilEnded(service);
  const { state, export: made, model_id, verdict } = await job();
  modelId = model_id;
  assert.equal([state, made.state, verdict.verified], ['completed', 'failed', null], JSON.stringify(made));
  assert.match(made.reason, 'a part of the converter is missing');
  assert.not.ok(modelFiles().some((name) => name.endsWith('model-Q8_0.gguf')));
  const [listed] = (await service.call('GET', '/v1/models')).body.data;
  assert.is(listed.export.state, 'failed');
});

test('it answers without a GGUF file', async () => {
  assert.type(await answer(), 'string');
});

test('it fails again while the cause is there, and is exported to other types once it is not', async () => {
  assert.is((await exportTo('F16')).state, 'failed');
  cpSync(join(root, 'build', 'llama.cpp'), converter, { recursive: true });
  const found = await exportTo('F16', 'Q4_0');
  assert.equal(
    [found.state, found.files.map(({ quantization, verified }: Json) => [quantization, verified])],
    [
      'done',
      [
        ['F16', true],
        ['Q4_0', true],
      ],
    ],
    JSON.stringify(found),
  );
  for (const { name, bytes } of found.files) assert.ok(modelFiles().includes(name) && bytes > 0);
  assert.not.ok(existsSync(join(service.dataDir, 'exports', modelId)));
  const { processes } = (await service.call('GET', '/api/playground/figures')).body;
  assert.equal(processes, [], 'it no longer answers without them');
  assert.type(await answer(), 'string');
});

test('it is exported when its training and dataset were deleted, unless that is cancelled', async () => {
  assert.is((await service.call('DELETE', '/api/jobs/train_1')).status, 200);
  assert.is((await service.call('DELETE', '/api/datasets/support.jsonl')).status, 200);
  const before = modelFiles();
  const { body } = await service.call('POST', `/api/models/${modelId}/export`, { quantizations: ['Q8_0'] });
  assert.is(body.underway.state, 'running');
  await until(async () => (await exportOf()).underway.phase !== null, 'it has begun');
  assert.is((await service.call('DELETE', `/api/models/${modelId}/export`)).status, 200);
  assert.equal(modelFiles(), before);
  const { state, files } = await exportTo('Q8_0');
  assert.equal([state, files.at(-1).quantization, files.at(-1).verified], ['done', 'Q8_0', true]);
});

test.run();
