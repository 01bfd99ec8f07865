/** A DoRA, which llama.cpp applies only merged: what answers, and what is refused. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { train } from '../jobs/evaluating.ts';
import { endAll, type Json, quickRequest, startService, supportRows, type TestService } from '../service.ts';

let service: TestService;
let job: Json;
const prompt = 'Hello';
const ask = (fields: object) =>
  service.call('POST', '/api/playground/new', {
    ...{ model_id: job.model_id, prompt, max_length: 8, temperature: 0 },
    ...fields,
  });

test.before(async () => {
  service = await startService();
  await service.upload('support.jsonl', supportRows());
  const settings = {
    adapter: 'dora',
    max_steps: 12,
    save_steps: 6,
    save_total_limit: 2,
    learning_rate: 1e-2,
  };
  job = await train(service, quickRequest({ ...settings, export: { quantizations: ['F16'] } }));
});
test.after(endAll);

test('its file is verified, and its checkpoints answer in PyTorch', async () => {
  assert.is(job.verification.passed, true, JSON.stringify(job.verification));
  const merged = await ask({});
  assert.is(merged.status, 200, JSON.stringify(merged.body));
  const last = await ask({ checkpoint: 12 });
  assert.is(last.status, 200, JSON.stringify(last.body));
  // Of a leading space, llama.cpp writes what transformers leaves out.
  assert.is(last.body.generated_text, merged.body.generated_text.trimStart(), 'the last one is the model');
  assert.is((await ask({ checkpoint: 6 })).status, 200);
});

test('it has no other strength, in answers and in files', async () => {
  const scaled = await ask({ scale: 0.5 });
  assert.is(scaled.status, 400);
  assert.match(scaled.body.detail, /must be 1, because its adapter could not be converted for llama\.cpp/);
  const path = `/api/models/${job.model_id}/export`;
  const { status, body } = await service.call('POST', path, { strength: 0.5 });
  assert.is(status, 400);
  assert.match(body.detail, /is a DoRA, which acts at its full strength only\. Leave strength out/);
  assert.is((await service.call('GET', path)).body.state, 'done');
});

test.run();
