/** `/v1/fine_tuning/jobs` with the official client: from the file to the answer, and everything on the way. */
import OpenAI, { toFile } from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
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
import { type Description, readDescription } from './description.ts';

let service: TestService;
let client: OpenAI;
let description: Description;
let trainingFile = '';
let validationFile = '';
const model = tinyModel('qwen3', 'chatml');
type Job = OpenAI.FineTuning.FineTuningJob;

const rows = (from: number, count: number) =>
  supportRows()
    .split('\n')
    .slice(from, from + count)
    .join('\n');
const upload = async (name: string, content: string) =>
  (await client.files.create({ file: await toFile(Buffer.from(content), name), purpose: 'fine-tune' })).id;
/** A hundred thousand steps, which are never reached. */
const endless = { n_epochs: 1000, batch_size: 1 };
const create = (changes: Partial<OpenAI.FineTuning.JobCreateParams> = {}) =>
  client.fineTuning.jobs.create({ model, training_file: trainingFile, ...changes });
const untilStatus = (id: string, ...wanted: string[]): Promise<Job> =>
  until(
    async () => {
      const job = await client.fineTuning.jobs.retrieve(id);
      return wanted.includes(job.status) ? job : null;
    },
    `${id} is ${wanted.join(' or ')}`,
    300_000,
  ) as Promise<Job>;
const untilTraining = (id: string) =>
  until(
    async () => (await client.fineTuning.jobs.listEvents(id)).data.some(({ type }) => type === 'metrics'),
    'it trains',
    300_000,
  );

test.before(async () => {
  service = await startService({ warm: true });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
  description = await readDescription(service);
  trainingFile = await upload('train.jsonl', rows(0, 16));
  validationFile = await upload('valid.jsonl', rows(16, 12));
});
test.after(endAll);

test('a job trains on the files, and the model answers to its name', async () => {
  const created = await create({
    validation_file: validationFile,
    suffix: 'Customer support!',
    seed: 7,
    metadata: { team: 'support', run: '1' },
    method: {
      type: 'supervised',
      supervised: { hyperparameters: { n_epochs: 2, batch_size: 8, learning_rate_multiplier: 1.5 } },
    },
  });
  assert.match(created.id, /^ftjob-\d+$/);
  assert.equal(
    [created.object, created.model, created.training_file, created.validation_file, created.seed],
    ['fine_tuning.job', model, trainingFile, validationFile, 7],
  );
  assert.ok(['validating_files', 'queued', 'running'].includes(created.status), created.status);
  assert.equal([created.fine_tuned_model, created.finished_at, created.result_files], [null, null, []]);
  assert.equal({ ...created.metadata }, { team: 'support', run: '1' });
  const used = { n_epochs: 2, batch_size: 8, learning_rate_multiplier: 1.5 };
  assert.equal(created.hyperparameters, used);
  assert.equal(created.method, { type: 'supervised', supervised: { hyperparameters: used } });
  const [own] = (await service.call('GET', '/api/jobs')).body.jobs;
  const { settings } = (await service.call('GET', `/api/jobs/${own.job_id}`)).body;
  const recommended = (await service.call('GET', '/api/finetune/load_settings')).body;
  assert.equal(
    [settings.num_train_epochs, settings.learning_rate, settings.seed],
    [2, 1.5 * recommended.learning_rate, 7],
  );
  assert.is(settings.per_device_train_batch_size * settings.gradient_accumulation_steps, 8);

  const job = await untilStatus(created.id, 'succeeded', 'failed');
  assert.is(job.status, 'succeeded', JSON.stringify(job.error));
  assert.match(job.fine_tuned_model ?? '', /^ft:qwen3-chatml:hone:Customer-support:[0-9a-f]{8}$/);
  assert.ok((job.finished_at ?? 0) >= job.created_at && (job.trained_tokens ?? 0) > 0);
  assert.equal([job.error, job.estimated_finish], [null, null]);

  const name = job.fine_tuned_model as string;
  assert.equal(
    (await client.models.list()).data.map(({ id }) => id),
    [name],
  );
  assert.is((await client.models.retrieve(name)).id, name);
  const messages = [{ role: 'user' as const, content: 'My parcel has not come.' }];
  const answer = await client.chat.completions.create({ model: name, messages, max_tokens: 8 });
  assert.is(answer.model, name);
  assert.ok((answer.usage?.completion_tokens ?? 0) > 0);
});

test('its events are messages and metrics, newest first, by page', async () => {
  const id = 'ftjob-1';
  const events = [];
  for await (const event of client.fineTuning.jobs.listEvents(id, { limit: 4 })) events.push(event);
  const numbers = events.map((event) => Number(event.id.replace('ftevent-', '')));
  assert.equal(
    numbers,
    [...new Set(numbers)].sort((a, b) => b - a),
  );
  const whole = await client.fineTuning.jobs.listEvents(id, { limit: 100 });
  assert.equal(whole.data, events);
  assert.ok(events.some(({ message }) => message === 'The job has successfully completed'));
  assert.ok(events.some(({ message }) => message.startsWith('New fine-tuned model created: ft:')));
  const metrics = events.filter(({ type }) => type === 'metrics').map(({ data }) => data as Json);
  assert.equal(
    metrics
      .filter((data) => 'train_loss' in data)
      .map(({ step }) => step)
      .reverse(),
    [1, 2, 3, 4],
  );
  assert.ok(
    metrics.every((data) => 'train_mean_token_accuracy' in data || 'valid_mean_token_accuracy' in data),
  );
  assert.equal(
    metrics
      .filter((data) => 'valid_loss' in data)
      .map(({ step }) => step)
      .reverse(),
    [2, 4],
  );
  description.check(
    'GET',
    `/v1/fine_tuning/jobs/${id}/events`,
    await service.call('GET', `/v1/fine_tuning/jobs/${id}/events?limit=100`),
  );
});

test('its checkpoints are those of its epochs, and each answers to its name', async () => {
  const name = (await client.fineTuning.jobs.retrieve('ftjob-1')).fine_tuned_model;
  const kept = [];
  for await (const one of client.fineTuning.jobs.checkpoints.list('ftjob-1', { limit: 1 })) kept.push(one);
  assert.equal(
    kept.map((one) => [one.step_number, one.fine_tuned_model_checkpoint]),
    [4, 2].map((step) => [step, `${name}:ckpt-step-${step}`]),
  );
  const { train, eval: evaluations } = (await service.call('GET', '/api/jobs/train_1/metrics')).body;
  const first = kept[1] as (typeof kept)[0];
  assert.equal(
    [first.fine_tuning_job_id, first.metrics.step, first.metrics.train_loss],
    ['ftjob-1', 2, train[1].loss],
  );
  const last = kept[0]?.metrics ?? {};
  assert.equal(
    [last.valid_loss, last.full_valid_loss, last.valid_mean_token_accuracy, last.train_mean_token_accuracy],
    [
      ...[evaluations[2].metrics.eval_loss, evaluations[2].metrics.eval_loss],
      ...[evaluations[2].metrics.mean_token_accuracy, train[3].extra.mean_token_accuracy],
    ],
  );
  const checkpoint = first.fine_tuned_model_checkpoint;
  assert.is((await client.models.retrieve(checkpoint)).id, checkpoint);
  const messages = [{ role: 'user' as const, content: 'My parcel has not come.' }];
  const options = { messages, max_tokens: 8, temperature: 0 };
  const named = await client.chat.completions.create({ model: checkpoint, ...options });
  assert.is(named.model, checkpoint);
  const model = 'train_1';
  const numbered = await service.call('POST', '/v1/chat/completions', { model, checkpoint: 2, ...options });
  assert.is(named.choices[0]?.message.content, numbered.body.choices[0].message.content);
  for (const missing of [`${name}:ckpt-step-3`, 'ft:none:hone::12345678:ckpt-step-2']) {
    const gone = await client.models.retrieve(missing).catch((error) => error);
    assert.equal([gone.status, gone.code], [404, 'model_not_found']);
    const answer = await client.chat.completions.create({ model: missing, messages }).catch((error) => error);
    assert.is(answer.status, 404);
  }
});

test('its result file has the curves as CSV', async () => {
  const job = await client.fineTuning.jobs.retrieve('ftjob-1');
  const [id = ''] = job.result_files;
  const file = await client.files.retrieve(id);
  assert.equal([file.purpose, file.filename], ['fine-tune-results', 'step_metrics.csv']);
  const text = await (await client.files.content(id)).text();
  assert.is(file.bytes, Buffer.byteLength(text));
  const [header, ...lines] = text.trim().split('\n');
  assert.is(header, 'step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy');
  const series = (await service.call('GET', '/api/jobs/train_1/metrics')).body;
  const evaluations = new Map(series.eval.map(({ step, metrics }: Json) => [step, metrics]));
  assert.equal(
    lines,
    series.train.map(({ step, loss, extra }: Json) => {
      const { eval_loss: valid = '', mean_token_accuracy: right = '' } = (evaluations.get(step) ??
        {}) as Json;
      assert.ok(extra.mean_token_accuracy >= 0 && extra.mean_token_accuracy <= 1);
      return `${step},${loss},${extra.mean_token_accuracy},${valid},${right}`;
    }),
  );
  const listed = await client.files.list({ purpose: 'fine-tune-results' });
  assert.equal(
    listed.data.map((one) => one.id),
    [id],
  );
  const asRows = await create({ training_file: id }).catch((error) => error);
  assert.equal([asRows.status, asRows.param], [400, 'training_file']);
  await client.files.delete(id);
  assert.equal((await client.fineTuning.jobs.retrieve('ftjob-1')).result_files, []);
});

test('a second job waits in the queue, is paused, resumed and cancelled there', async () => {
  const first = await create({ hyperparameters: endless });
  const preferences = Array.from({ length: 10 }, (_, at) =>
    JSON.stringify({ prompt: `Which is better, ${at}?`, chosen: 'this', rejected: 'that' }),
  ).join('\n');
  const used = { n_epochs: 1, batch_size: 4, learning_rate_multiplier: 1, beta: 0.3 };
  const second = await create({
    training_file: await upload('preferences.jsonl', preferences),
    metadata: { run: '2' },
    integrations: [{ type: 'wandb', wandb: { project: 'mail' } }],
    method: { type: 'dpo', dpo: { hyperparameters: { ...used, learning_rate_multiplier: 'auto' } } },
  });
  assert.is(second.status, 'queued');
  assert.equal(second.method, { type: 'dpo', dpo: { hyperparameters: used } });
  const queued = (
    await service.call('GET', `/api/jobs/${second.id.replace('ftjob', 'train').replace('-', '_')}`)
  ).body;
  assert.equal([queued.strategy, queued.settings.beta], ['dpo', 0.3]);
  assert.equal(second.integrations, [{ type: 'wandb', wandb: { project: 'mail' } }]);
  assert.equal([queued.request.report_to, queued.request.project], [['wandb'], 'mail']);
  assert.is((await client.fineTuning.jobs.pause(second.id)).status, 'paused');
  assert.is((await client.fineTuning.jobs.resume(second.id)).status, 'queued');
  const cancelled = await client.fineTuning.jobs.cancel(second.id);
  assert.is(cancelled.status, 'cancelled');
  assert.ok(cancelled.finished_at);
  const again = await client.fineTuning.jobs.resume(second.id).catch((error) => error);
  assert.instance(again, OpenAI.BadRequestError);

  await untilTraining(first.id);
  const running = await client.fineTuning.jobs.retrieve(first.id);
  assert.is(running.status, 'running');
  assert.is((await client.fineTuning.jobs.pause(first.id)).status, 'paused');
  assert.is((await untilStatus(first.id, 'paused')).finished_at, null);
  await client.fineTuning.jobs.resume(first.id);
  await untilStatus(first.id, 'running');
  assert.is((await client.fineTuning.jobs.cancel(first.id)).status, 'cancelled');
  const ended = await client.fineTuning.jobs.cancel(first.id).catch((error) => error);
  assert.instance(ended, OpenAI.BadRequestError);
  await untilEnded(service);
});

test('jobs are listed newest first, by page and by metadata, those of other sets, too', async () => {
  await service.upload('page.jsonl', rows(0, 12));
  const request = quickRequest({ model_name: model, dataset: 'page.jsonl', max_steps: 1, export: 'none' });
  assert.is((await service.call('POST', '/api/start_training', request)).status, 200);
  await untilEnded(service);
  const seen: Job[] = [];
  for await (const job of client.fineTuning.jobs.list({ limit: 2 })) seen.push(job);
  assert.equal(
    seen.map(({ id }) => id),
    ['ftjob-4', 'ftjob-3', 'ftjob-2', 'ftjob-1'],
  );
  const [page] = seen;
  assert.is(page?.status, 'succeeded');
  assert.is(page?.fine_tuned_model, 'qwen3-chatml-page');
  assert.is((await client.files.retrieve(page?.training_file ?? '')).filename, 'page.jsonl');
  const withPairs = await client.fineTuning.jobs.list({ metadata: { run: '1', team: 'support' } });
  assert.equal(
    withPairs.data.map(({ id }) => id),
    ['ftjob-1'],
  );
  const without = (await service.call('GET', '/v1/fine_tuning/jobs?metadata=null')).body;
  assert.equal(
    without.data.map(({ id }: Json) => id),
    ['ftjob-4', 'ftjob-2'],
  );
  assert.equal((await client.fineTuning.jobs.list({ metadata: { run: 'x' } })).data, []);
});

test('a model is deleted by its name, however its slashes and colons are written', async () => {
  const name = (await client.fineTuning.jobs.retrieve('ftjob-1')).fine_tuned_model as string;
  assert.is((await service.call('GET', `/v1/models/${encodeURIComponent(name)}`)).body.id, name);
  assert.is((await service.call('GET', `/v1/models/${name}`)).body.id, name);
  assert.equal({ ...(await client.models.delete(name)) }, { id: name, object: 'model', deleted: true });
  for (const missing of [name, 'ft:acme/some model:hone::12345678', 'acme/none']) {
    const gone = await client.models.retrieve(missing).catch((error) => error);
    assert.equal([gone.status, gone.code], [404, 'model_not_found']);
    const raw = await service.call('GET', `/v1/models/${missing.replaceAll(' ', '%20')}`);
    assert.equal([raw.status, raw.body.error.code], [404, 'model_not_found']);
  }
  const job = await client.fineTuning.jobs.retrieve('ftjob-1');
  assert.is(job.fine_tuned_model, name, 'the job still says what it made');
});

test('a job of the method dpo trains on pairs of answers to a conversation, and its model answers', async () => {
  const input = { messages: [{ role: 'user', content: 'Where is my order?' }] };
  const answer = (content: string) => [{ role: 'assistant', content }];
  const pairs = Array.from({ length: 12 }, (_, at) =>
    JSON.stringify({
      input,
      preferred_output: answer(`team: shipping ${at}`),
      non_preferred_output: answer('No idea.'),
    }),
  ).join('\n');
  const dpo = { hyperparameters: { n_epochs: 1, batch_size: 4, beta: 0.2 } };
  const created = await create({
    training_file: await upload('pairs.jsonl', pairs),
    method: { type: 'dpo', dpo },
  });
  const job = await untilStatus(created.id, 'succeeded', 'failed');
  assert.is(job.status, 'succeeded', JSON.stringify(job.error));
  assert.is(job.method?.type, 'dpo');
  assert.is(job.method?.dpo?.hyperparameters?.beta, 0.2);
  const model = job.fine_tuned_model as string;
  const said = await client.chat.completions.create({ model, messages: input.messages as [], max_tokens: 8 });
  assert.ok((said.usage?.completion_tokens ?? 0) > 0);
});

test.run();
