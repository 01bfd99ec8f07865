/** A model whose tokenizer llama.cpp cannot follow: that is found before the training, and the API and the page say so. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { model } from '../models.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  untilEnded,
} from '../service.ts';
import { axeViolations, closeBrowser, openPage, sees } from './browser.ts';

let service: TestService;
let job: Json;
let made: Json;

test.after(async () => {
  await closeBrowser();
  await endAll();
});

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  const request = quickRequest({ model_name: model('mixed'), max_steps: 2 });
  assert.is((await service.call('POST', '/api/start_training', request)).status, 200);
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  job = (await service.call('GET', '/api/jobs/train_1')).body;
  [made] = (await service.call('GET', '/api/models/')).body;
});

const reason =
  /llama\.cpp splits \d+ of \d+ texts into other tokens than this model's tokenizer, for example "user: /;

test('the run is completed without a GGUF file, answers, and its record says why', async () => {
  assert.is(job.export.state, 'skipped');
  assert.match(job.export.reason, reason);
  const answer = await service.call('POST', '/api/playground/new', {
    model_id: made.model_id,
    prompt: 'My parcel has not come.',
    max_length: 4,
    temperature: 0,
    top_p: 1,
  });
  assert.is(answer.status, 200, JSON.stringify(answer.body));
});

test('the page of the model and that of the run say why', async () => {
  for (const path of [`/models/${made.model_id}`, '/training/train_1']) {
    const { page, faults } = await openPage(service.url, path);
    await sees(page, reason);
    assert.equal(await axeViolations(page), []);
    assert.equal(faults, []);
  }
});

test('a start that asks for the file is refused before the first step', async () => {
  const request = quickRequest({ model_name: model('mixed'), export: { quantizations: ['F16'] } });
  assert.is((await service.call('POST', '/api/start_training', request)).status, 200);
  const ended = await untilEnded(service);
  assert.is(ended.status, 'error', JSON.stringify(ended));
  assert.match(ended.error, reason);
  const { last_metric: step } = (await service.call('GET', '/api/jobs/train_2')).body;
  assert.is(step, null);
});

test.run();
