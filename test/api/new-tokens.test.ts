/** New tokens, over the API: what answers, what is refused, and where a training goes on from there. */

import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { score, train } from '../jobs/evaluating.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';

const tokens = ['<team>', '<end of answer>'];
let service: TestService;
let job: Json;
const start = (changes: object) =>
  service.call(
    'POST',
    '/api/start_training',
    quickRequest({ model_name: tinyModel('qwen3'), new_tokens: tokens, ...changes }),
  );
const exportPath = () => `/api/models/${job.model_id}/export`;

test.before(async () => {
  service = await startService({ warm: true });
  const rows = supportRows()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Json)
    .map((row) => JSON.stringify({ ...row, output: `<team> ${row.output}<end of answer>` }));
  await service.upload('support.jsonl', rows.join('\n'));
  const settings = {
    ...{ max_steps: 40, save_steps: 20, learning_rate: 1e-2, eval_split: 0.2 },
    per_device_train_batch_size: 8,
  };
  job = await train(
    service,
    quickRequest({
      ...settings,
      ...{ model_name: tinyModel('qwen3'), new_tokens: tokens, export: { quantizations: ['F16'] } },
    }),
  );
});
test.after(endAll);

test('the file is verified and answers with the tokens, as its checkpoint does in PyTorch', async () => {
  assert.is(job.verification.passed, true, JSON.stringify(job.verification));
  const ask = (fields: object) =>
    service.call('POST', '/api/playground/new', {
      ...{ model_id: job.model_id, prompt: 'My parcel has not come.', max_length: 8, temperature: 0 },
      ...fields,
    });
  const merged = await ask({});
  assert.is(merged.status, 200, JSON.stringify(merged.body));
  const last = await ask({ checkpoint: 40 });
  assert.is(last.status, 200, JSON.stringify(last.body));
  assert.is(last.body.generated_text.trim(), merged.body.generated_text.trim());
  assert.match(merged.body.generated_text, '<team>');
  const scaled = await ask({ scale: 0.5 });
  assert.is(scaled.status, 400);
  assert.match(scaled.body.detail, 'must be 1');
});

test('it is scored as it was evaluated, and its rows have the tokens in the preview', async () => {
  const asked = { model: job.model_id, dataset: 'support.jsonl' };
  const [tuned, base] = [await score(service, asked), await score(service, { ...asked, as_base: true })];
  assert.ok(tuned.figures.loss < base.figures.loss - 1, JSON.stringify([tuned.figures, base.figures]));
  const { status, body } = await service.call('POST', '/api/datasets/support.jsonl/preview', {
    ...{ task: 'text-generation', model_name: tinyModel('qwen3'), new_tokens: tokens },
  });
  assert.is(status, 200, JSON.stringify(body));
  const texts = body.rows[0].tokens.map(({ text }: Json) => text);
  for (const token of tokens) assert.ok(texts.includes(token), texts.join(' '));
});

test('it has no strength and no adapter for llama.cpp', async () => {
  for (const [body, says] of [
    [{ strength: 0.5 }, /embeddings of its own, which act at their full strength only\. Leave strength out/],
    [{ adapter_gguf: true }, /replaces whole tensors or rows of them.*Choose merged/],
  ] as const) {
    const refused = await service.call('POST', exportPath(), body);
    assert.is(refused.status, 400);
    assert.match(JSON.stringify(refused.body), says);
  }
});

test('a training goes on from its merged weights, whose folder has the tokens, not from its adapter', async () => {
  const refused = await start({ model_name: job.model_id, new_tokens: undefined });
  assert.is(refused.status, 400);
  assert.match(
    refused.body.detail,
    /was trained with new_tokens.*Name its merged file.*folder of its merged weights/,
  );
  const asked = await service.call('POST', exportPath(), { merged: true });
  assert.is(asked.status, 202, JSON.stringify(asked.body));
  let made: Json;
  await until(async () => {
    made = (await service.call('GET', exportPath())).body;
    return made.underway === null;
  }, 'the export has ended');
  assert.is(made.merged.state, 'done', JSON.stringify(made));
  const folder = join(service.dataDir, 'model_checkpoints', job.model_id, 'merged');
  const next = await train(service, quickRequest({ model_name: folder, max_steps: 2, eval_split: 0.2 }));
  assert.ok(next.verdict.loss.base < job.verdict.loss.base, 'it begins where the first one ended');
  const again = await start({ model_name: folder });
  assert.is(again.status, 200, JSON.stringify(again.body));
  const failed = await untilEnded(service);
  assert.is(failed.status, 'error');
  assert.match(failed.error, "'<team>' is one token of this model already");
});

test('what cannot go with new tokens is refused, and starts nothing', async () => {
  const before = (await service.call('GET', '/api/jobs')).body.jobs.length;
  for (const [changes, says] of [
    [{ new_tokens: ['<a>', '<a>'] }, 'name each once'],
    [{ workers: 2 }, 'set workers to 1'],
    [{ strategy: 'qlora' }, 'set strategy to sft'],
    [{ modules_to_save: ['q_proj'] }, 'embed_tokens'],
    [{ target_modules: ['embed_tokens'] }, 'modules_to_save'],
    [{ adapter: 'full', modules_to_save: ['lm_head'] }, 'full trains all weights'],
  ] as const) {
    const { status, body } = await start(changes);
    assert.is(status, 400, JSON.stringify(body));
    assert.match(JSON.stringify(body), says);
  }
  assert.is((await service.call('GET', '/api/jobs')).body.jobs.length, before);
});

test.run();
