/**
 * Scripts for OpenAI's fine-tuning API, one for each of its official libraries: they run here with the base URL and the
 * model's name changed alone.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
} from '../service.ts';

let service: TestService;
const folder = temporaryFolder();
const files = ['train.jsonl', 'valid.jsonl'].map((name) => join(folder, name)) as [string, string];

/** Conversations in the format of OpenAI's guide. */
const conversations = (from: number, count: number) =>
  supportRows()
    .split('\n')
    .slice(from, from + count)
    .map((line) => JSON.parse(line) as { input: string; output: string })
    .map(({ input, output }) => [
      { role: 'system', content: 'You help the customers of a shop.' },
      { role: 'user', content: input },
      { role: 'assistant', content: output },
    ])
    .map((messages) => `${JSON.stringify({ messages })}\n`)
    .join('');

test.before(async () => {
  writeFileSync(files[0], conversations(0, 16));
  writeFileSync(files[1], conversations(16, 12));
  service = await startService({ warm: true });
});
test.after(endAll);

const scripts: Record<string, [program: string, script: string]> = {
  Python: [join(root, 'trainer', '.venv', 'bin', 'python'), 'guide.py'],
  Node: [process.execPath, 'guide.mjs'],
};

for (const [language, [program, script]] of Object.entries(scripts)) {
  test(`the ${language} script uploads, trains, follows the events and asks the model`, async () => {
    const path = join(root, 'test', 'api', 'fine-tuning-guide', script);
    const { stdout } = await promisify(execFile)(program, [path, ...files, tinyModel('qwen3', 'chatml')], {
      env: { ...process.env, OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'unused' },
    });
    const name = 'ft:qwen3-chatml:hone:support:[0-9a-f]{8}';
    for (const line of [
      /^job ftjob-\d+$/m,
      /^event metrics Step 2\/2: training loss=\d/m,
      /^event metrics Step 2: validation loss=\d/m,
      /^event message The job has successfully completed$/m,
      /^tokens [1-9]\d*$/m,
      /^results step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy$/m,
      new RegExp(`^checkpoint 2 ${name}:ckpt-step-2$`, 'm'),
      new RegExp(`^model ${name}$`, 'm'),
      /^answer assistant [1-8]$/m,
    ])
      assert.match(stdout, line);
  });
}

/** An API key, which no file of the service that moves may hold. */
const key = 'sk-canary-of-the-first';

test('a second Hone moves files and jobs from the first, and proposes the equal trainings', async () => {
  const first = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'unused' });
  const [done] = (await first.fineTuning.jobs.list()).data;
  const second = await startService({ warm: true, env: { OPENAI_BASE_URL: `${service.url}/v1` } });
  const moved = await until(async () => {
    const { body } = await second.call('GET', '/api/move/openai');
    if (body.state === 'idle') await second.call('POST', '/api/move/openai', { api_key: key });
    return ['completed', 'failed'].includes(body.state) && body;
  }, 'the move ended');
  assert.equal([moved.state, moved.error], ['completed', null]);
  assert.equal(
    moved.files.map(({ state }: Json) => state),
    ['stored', 'stored', 'stored', 'stored'],
  );
  const [job] = moved.jobs;
  assert.equal(
    [job.id, job.status, job.model, job.fine_tuned_model, job.method, job.suffix, job.seed],
    [done?.id, 'succeeded', done?.model, done?.fine_tuned_model, 'supervised', 'support', done?.seed],
  );
  assert.equal(job.hyperparameters, { ...done?.hyperparameters });
  assert.type(job.metrics.train_loss, 'number');
  assert.type(job.metrics.valid_loss, 'number');
  for (const [name, path] of [
    [job.training_dataset, files[0]],
    [job.validation_dataset, files[1]],
  ]) {
    assert.equal(readFileSync(join(second.dataDir, 'datasets', name)), readFileSync(path as string));
  }
  const { request } = job.proposal;
  assert.equal(
    [request.dataset, request.validation_dataset, request.num_train_epochs, request.strategy],
    [job.training_dataset, job.validation_dataset, 1, 'sft'],
  );
  assert.is(request.per_device_train_batch_size * request.gradient_accumulation_steps, 8);
  const started = await second.call('POST', '/api/start_training', { ...request, model_name: done?.model });
  assert.is(started.status, 200, JSON.stringify(started.body));
  await second.call('POST', '/api/jobs/train_1/stop', { discard: true });
  await second.end();
});

test('the example compares models on the validation file', async () => {
  const { stdout } = await promisify(execFile)(
    join(root, 'trainer', '.venv', 'bin', 'python'),
    [join(root, 'examples', 'evaluate.py'), files[1], '1', '2'],
    { env: { ...process.env, OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'unused' } },
  );
  assert.match(stdout, /^ +exact +similar +model \(12 answers\)$/m);
  assert.match(stdout, /^ +\d+\.\d% +\d+\.\d% +1$/m);
  assert.match(stdout, /^ +\d+\.\d% +\d+\.\d% +2$/m);
});

test.run();
