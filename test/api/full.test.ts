/** A training of all weights: what it makes, what answers for it, and what is refused. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { train } from '../jobs/evaluating.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  until,
} from '../service.ts';

let service: TestService;
let job: Json;
const prompt = 'Hello';
const ask = (fields: object) =>
  service.call('POST', '/api/playground/new', {
    ...{ model_id: job.model_id, prompt, max_length: 8, temperature: 0 },
    ...fields,
  });
const settings = {
  adapter: 'full',
  max_steps: 12,
  save_steps: 6,
  save_total_limit: 2,
  learning_rate: 1e-3,
  eval_split: 0.2,
};
const request = (changes: object = {}) => quickRequest({ ...settings, ...changes });

test.before(async () => {
  service = await startService();
  await service.upload('support.jsonl', supportRows());
  job = await train(service, request({ export: { quantizations: ['F16'] } }));
});
test.after(endAll);

test('its file is verified, and its checkpoints answer in PyTorch', async () => {
  assert.is(job.verification.passed, true, JSON.stringify(job.verification));
  const { events } = (await service.call('GET', `/api/jobs/${job.job_id}/events`)).body;
  assert.not.match(JSON.stringify(events), 'no_adapter_gguf');
  assert.ok(job.verification.difference_from_base > 0.1, JSON.stringify(job.verification));
  const answer = await ask({});
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  const last = await ask({ checkpoint: 12 });
  assert.is(last.status, 200, JSON.stringify(last.body));
  // Of a leading space, llama.cpp writes what transformers leaves out.
  assert.is(last.body.generated_text, answer.body.generated_text.trimStart(), 'the last one is the model');
  assert.is((await ask({ checkpoint: 6 })).status, 200);
});

test('its folder is a model that transformers loads', () => {
  const folder = join(service.dataDir, 'model_checkpoints', job.model_id, 'adapter');
  for (const name of ['config.json', 'model.safetensors', 'tokenizer.json'])
    assert.ok(existsSync(join(folder, name)), name);
});

test('it has no strength, and nothing to blend', async () => {
  const scaled = await ask({ scale: 0.5 });
  assert.is(scaled.status, 400);
  assert.match(scaled.body.detail, /must be 1, because all of its weights were trained/);
  const blended = await ask({ blend: { model: job.model_id, checkpoint: 6 } });
  assert.is(blended.status, 400);
  assert.match(blended.body.detail, /cannot be blended: all of its weights were trained/);
  const path = `/api/models/${job.model_id}/export`;
  const { status, body } = await service.call('POST', path, { strength: 0.5 });
  assert.is(status, 400);
  assert.match(body.detail, /all of its weights were trained\. Leave strength out/);
});

test('a checkpoint becomes a file', async () => {
  const path = `/api/models/${job.model_id}/export`;
  assert.is((await service.call('POST', path, { checkpoint: 6 })).status, 202);
  let found: Json;
  await until(async () => {
    found = (await service.call('GET', path)).body;
    return found.underway === null;
  }, 'the export has ended');
  assert.equal([found.state, found.files[0].verified], ['done', true], JSON.stringify(found));
  const answer = await ask({});
  const before = await ask({ checkpoint: 6 });
  assert.is(before.body.generated_text, answer.body.generated_text.trimStart());
});

test('what cannot be is refused with what to choose instead', async () => {
  for (const [changes, instead] of [
    [{ strategy: 'qlora' }, /set strategy to sft/],
    [{ lora_r: 4 }, /leave it out, or set adapter to lora/],
    [{ use_8bit: true }, /leave use_8bit out/],
  ] as const) {
    const { status, body } = await service.call('POST', '/api/finetune/start_training', request(changes));
    assert.is(status, 400, JSON.stringify(body));
    assert.match(JSON.stringify(body), instead);
  }
});

test.run();
