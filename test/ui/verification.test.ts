/** A model that llama.cpp reads otherwise than it was trained: it is kept, and the API and the page say so. */
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
  const request = quickRequest({
    model_name: model('mixed'),
    max_steps: 2,
    export: { quantizations: ['F16'] },
  });
  assert.is((await service.call('POST', '/api/start_training', request)).status, 200);
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  job = (await service.call('GET', '/api/jobs/train_1')).body;
  [made] = (await service.call('GET', '/api/models/')).body;
});

test('the run is completed, its file answers, and its record says what differs', async () => {
  const { verification } = job;
  assert.equal([verification.passed, verification.agreement, verification.tokens_equal], [false, 1, 0]);
  assert.match(verification.reason, 'texts become other tokens than in training');
  assert.match(verification.tokens_differ.text, /^user: /);
  assert.not.equal(verification.tokens_differ.trained, verification.tokens_differ.gguf);
  const lineage = (await service.call('GET', `/api/models/${made.model_id}/lineage`)).body;
  assert.equal(lineage.verification, verification);
  assert.ok(lineage.files.some(({ kind }: Json) => kind === 'gguf'));
  const answer = await service.call('POST', '/api/playground/new', {
    model_id: made.model_id,
    prompt: 'My parcel has not come.',
    max_length: 4,
    temperature: 0,
    top_p: 1,
  });
  assert.is(answer.status, 200, JSON.stringify(answer.body));
});

test('the page of the model and that of the run show the mark in plain words', async () => {
  for (const path of [`/models/${made.model_id}`, '/training/train_1']) {
    const { page, faults } = await openPage(service.url, path);
    await sees(page, 'Tokenization differs');
    await sees(page, /has the trained weights but tokenizes some texts differently/);
    await page.getByText('A text that is tokenized differently').click();
    await sees(page, job.verification.tokens_differ.trained.join(' '));
    await sees(page, job.verification.tokens_differ.gguf.join(' '));
    assert.equal(await axeViolations(page), []);
    assert.equal(faults, []);
  }
});

test.run();
