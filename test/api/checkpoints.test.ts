import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBaseNote } from '../../src/domain/checkpoints/shared-bases.ts';
import {
  type Answer,
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

let service: TestService;

const question = { messages: [{ role: 'user', content: 'My parcel has not come.' }], temperature: 0 };
const ask = (model: string, more: object): Promise<Answer> =>
  service.call('POST', '/v1/chat/completions', { model, ...question, max_tokens: 24, ...more });
const textOf = ({ status, body }: Answer): string => {
  assert.is(status, 200, JSON.stringify(body));
  return body.choices[0].message.content;
};
const checkpointsOf = async (job: string): Promise<Json[]> =>
  (await service.call('GET', `/api/jobs/${job}`)).body.checkpoints;
const start = (changes: object) =>
  service.call(
    'POST',
    '/api/start_training',
    quickRequest({ model_name: tinyModel('qwen3', 'chatml'), learning_rate: 0.01, ...changes }),
  );

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

test('a running training answers with its checkpoints, by the name of the job', async () => {
  assert.is((await start({ max_steps: 1_000_000, save_steps: 4, save_total_limit: 10_000 })).status, 200);
  await until(async () => (await checkpointsOf('train_1')).length > 1, 'two checkpoints were saved');
  const [first] = await checkpointsOf('train_1');
  assert.is(first.step, 4);
  assert.is(first.path, 'checkpoints/checkpoint-4');
  assert.ok(Date.parse(first.created_at) > 0);
  assert.type(first.metrics.final_loss, 'number');
  const text = textOf(await ask('train_1', { checkpoint: 4 }));
  const { body: job } = await service.call('GET', '/api/jobs/train_1');
  assert.is(job.state, 'running');
  assert.is(textOf(await ask(job.model_id, { checkpoint: 4 })), text, 'by the ID of the model to come');
  assert.is((await service.call('POST', '/api/stop_training')).status, 200);
  await untilEnded(service);
});

test('a stopped training answers, and is not deleted meanwhile', async () => {
  const folder = join(service.dataDir, 'jobs', 'train_1');
  assert.match((await readBaseNote(folder))?.file ?? '', /-Q8_0(-\d+)?\.gguf$/);
  const answer = ask('train_1', { checkpoint: 8 });
  // Its conversion imports libraries after it has made this folder.
  await until(() => existsSync(join(folder, 'checkpoint.partial')), 'the conversion began');
  const refused = await service.call('DELETE', '/api/jobs/train_1');
  assert.is(refused.status, 409);
  assert.match(refused.body.detail, /A checkpoint of train_1 is generating text/);
  assert.type(textOf(await answer), 'string');
  assert.is((await service.call('DELETE', '/api/jobs/train_1')).status, 200);
  assert.not(existsSync(folder));
  assert.is((await ask('train_1', { checkpoint: 8 })).status, 404);
});

test('a completed training answers with the checkpoints that it kept, in every API set', async () => {
  await start({ max_steps: 12, save_steps: 2, save_total_limit: 6, export: { quantizations: ['F16'] } });
  assert.is((await untilEnded(service)).status, 'completed');
  const [{ id, name }] = (await service.call('GET', '/api/models')).body.models;
  const [{ model_id }] = (await service.call('GET', '/api/models/')).body;
  assert.equal(
    (await checkpointsOf('train_2')).map(({ step }) => step),
    [2, 4, 6, 8, 10, 12],
  );
  const tuned = textOf(await ask(name, {}));
  const early = textOf(await ask(name, { checkpoint: 2 }));
  assert.is.not(early, tuned);
  assert.is(textOf(await ask(name, { checkpoint: 12 })), tuned, 'the last one is the model');
  assert.not(existsSync(join(service.dataDir, 'jobs', 'train_2', 'base.json')), 'made of the merged file');
  const prompt = question.messages[0]?.content;
  const body = { prompt, temperature: 0, checkpoint: 2 };
  const [flat, other] = [
    await service.call('POST', '/api/playground/generate', { ...body, model_id: id, max_new_tokens: 24 }),
    await service.call('POST', '/api/playground/new', { ...body, model_id, max_length: 24 }),
  ];
  assert.is(flat.body.generated_text, early);
  assert.is(other.body.generated_text, early);
});

test('a bad checkpoint is told', async () => {
  const [{ name, id }] = (await service.call('GET', '/api/models')).body.models;
  const unknown = await ask(name, { checkpoint: 7 });
  assert.is(unknown.status, 404);
  assert.is(
    unknown.body.error.message,
    'train_2 keeps no checkpoint of step 7. It has steps 2, 4, 6, 8, 10, 12.',
  );
  for (const checkpoint of [0, -1, 1.5, '2', true]) {
    const bad = await ask(name, { checkpoint });
    assert.is(bad.status, 400, String(checkpoint));
    assert.is(bad.body.error.param, 'checkpoint');
    const flat = { model_id: id, prompt: 'Hello', checkpoint };
    assert.is((await service.call('POST', '/api/playground/generate', flat)).status, 400);
  }
  const both = await ask(name, { checkpoint: 2, as_base: true });
  assert.is(both.status, 400);
  assert.match(both.body.error.message, /exclude each other/);
  assert.is((await ask('train_9', { checkpoint: 2 })).status, 404);
});

test('a checkpoint without what it needs says what is missing', async () => {
  const [{ id, name }] = (await service.call('GET', '/api/models')).body.models;
  const folder = join(service.dataDir, 'jobs', 'train_2');
  rmSync(join(folder, 'checkpoints', 'checkpoint-4', 'adapter_config.json'));
  const damaged = await ask(name, { checkpoint: 4 });
  // OpenAI's libraries would repeat the request after a 409.
  assert.is(damaged.status, 400);
  assert.match(damaged.body.error.message, /step 4 cannot answer: .*incomplete/);
  assert.is((await service.call('DELETE', `/api/models/${id}`)).status, 200);
  const gone = await ask('train_2', { checkpoint: 2 });
  assert.is(gone.status, 400);
  assert.match(gone.body.error.message, /The model of train_2 was deleted/);
});

test.run();
