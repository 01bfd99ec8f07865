import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { journalOf } from '../jobs/journal.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  type TestService,
  tinyModel,
  untilEnded,
} from '../service.ts';

/*
 * Distillation through the API: a model that was trained here teaches another one, and what may not teach is refused.
 */

let service: TestService;

const base = tinyModel('llama', 'chatml');
const rows = Array.from({ length: 40 }, (_, index) => ({
  input: `${['My parcel has not come.', 'I was charged twice.', 'I cannot log in.'][index % 3]} Case ${index}.`,
  output: ['team: shipping', 'team: billing', 'team: access'][index % 3],
}));
const request = (changes: Record<string, unknown>) =>
  quickRequest({
    model_name: base,
    dataset: 'rows.jsonl',
    max_seq_length: 128,
    per_device_train_batch_size: 8,
    gradient_accumulation_steps: 1,
    learning_rate: 0.01,
    eval_split: 0.2,
    max_steps: 30,
    eval_steps: 15,
    ...changes,
  });
const refusedWith = async (changes: Record<string, unknown>, message: RegExp) => {
  const { status, body } = await service.call(
    'POST',
    '/api/start_training',
    request({ strategy: 'distill', ...changes }),
  );
  assert.is(status, 400, JSON.stringify(body));
  assert.match(body.detail, message);
};

/** A copy of the base model in which one token is called differently. */
function withOddToken(): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'hone-odd-')), 'model');
  cpSync(base, folder, { recursive: true });
  const path = join(folder, 'tokenizer.json');
  const tokenizer = JSON.parse(readFileSync(path, 'utf8'));
  const [odd] = Object.entries<number>(tokenizer.model.vocab).find(([, number]) => number === 300) as [
    string,
    number,
  ];
  delete tokenizer.model.vocab[odd];
  tokenizer.model.vocab.odd = 300;
  writeFileSync(path, JSON.stringify(tokenizer));
  return folder;
}

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('rows.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
});
test.after(endAll);

test('a model that was trained here teaches its own base, which comes nearer to it and is exported', async () => {
  const first = await service.call('POST', '/api/start_training', request({ export: 'none' }));
  assert.is(first.status, 200, JSON.stringify(first.body));
  assert.is((await untilEnded(service)).status, 'completed');
  const [teacher] = (await service.call('GET', '/api/catalog')).body.models;
  const asked = request({ strategy: 'distill', teacher: teacher.name, teacher_top_k: 16 });
  const estimate = await service.call('POST', '/api/estimate', asked);
  assert.is(estimate.status, 200, JSON.stringify(estimate.body));
  assert.ok(estimate.body.disk.teacher_bytes > 0);
  const started = await service.call('POST', '/api/start_training', asked);
  assert.is(started.status, 200, JSON.stringify(started.body));
  assert.is((await untilEnded(service)).status, 'completed');
  const job = (await service.call('GET', `/api/jobs/${started.body.job_id}`)).body;
  assert.ok(job.verification.passed, JSON.stringify(job.verification));
  assert.is(job.verdict.metric.name, 'perplexity');
  const told = journalOf(service.dataDir, started.body.job_id).filter(({ type }: Json) => type === 'eval');
  const [before, after] = [told[0], told.at(-1)].map((line: Json) => line.metrics.divergence);
  assert.ok(after < 0.5 * before, `${before} to ${after}`);
  const answer = await service.call('POST', '/v1/chat/completions', {
    model: job.model_id,
    messages: [{ role: 'user', content: 'My parcel has not come.' }],
    max_tokens: 4,
  });
  assert.is(answer.status, 200, JSON.stringify(answer.body));
});

test('a checkpoint teaches, too', async () => {
  const asked = request({ strategy: 'distill', teacher: 'train_1@30', max_steps: 1, export: 'none' });
  const started = await service.call('POST', '/api/start_training', asked);
  assert.is(started.status, 200, JSON.stringify(started.body));
  assert.is((await untilEnded(service)).status, 'completed');
  const told = journalOf(service.dataDir, started.body.job_id).filter(({ type }: Json) => type === 'eval');
  assert.ok(told[0]?.metrics.divergence > 0);
  await refusedWith({ teacher: 'train_1@7' }, /no checkpoint/i);
});

test('what may teach a model is listed, with the reason why others may not', async () => {
  const path = (model: string) => `/api/teachers?model_name=${encodeURIComponent(model)}`;
  const { status, body } = await service.call('GET', path(base));
  assert.is(status, 200, JSON.stringify(body));
  const found = new Map<string, Json>(body.teachers.map((one: Json) => [one.name, one]));
  const [model] = (await service.call('GET', '/api/catalog')).body.models;
  assert.equal(found.get(model.name), { name: model.name, kind: 'model', reason: null });
  assert.equal(found.get(base), { name: base, kind: 'base', reason: null });
  const t5 = await service.call('GET', path(tinyModel('t5')));
  assert.is(t5.status, 400);
  assert.match(t5.body.detail, /cannot learn from a teacher: .* this one is t5/);
  assert.is((await service.call('GET', '/api/teachers')).status, 400);
});

test('a teacher whose tokens differ by one is refused by the token, with what else can be done', async () => {
  await refusedWith(
    { teacher: withOddToken() },
    /other tokens than .*: token 300 is "odd" in the teacher and .* in the student\. .* Or teach by text/,
  );
});

test('what cannot teach or learn is refused with its reason', async () => {
  await refusedWith({}, /distill learns from a teacher; name one in teacher/);
  await refusedWith({ teacher: 'https://api.example.com/v1' }, /A model at a URL cannot teach/);
  await refusedWith({ teacher: 'nobody' }, /"nobody" is neither a hub ID .* nor the path/);
  await refusedWith({ teacher: tinyModel('t5') }, /cannot teach: distill knows models .* is t5/);
  await refusedWith(
    { teacher: base, model_name: tinyModel('t5') },
    /cannot learn from a teacher: .* this one is t5/,
  );
  await refusedWith({ teacher: base, provider: 'accelerated' }, /accelerated/);
  await refusedWith({ teacher: base, workers: 2 }, /asks its teacher in one process/);
  await refusedWith({ teacher: base, strategy: 'sft' }, /teacher is a setting of the strategy distill/);
});

test.run();
