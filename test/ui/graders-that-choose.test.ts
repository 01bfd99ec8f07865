/** What graders chose, on the page: a run's verdict, a sweep, and two evaluations that a judge compares. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import {
  axeViolations,
  closeBrowser,
  keepPictures,
  openGroup,
  openPage,
  sees,
  typeModel,
} from './browser.ts';

let service: TestService;
const server = createServer(async (request, response) => {
  const asked = await text(request);
  const isLast = asked.indexOf('Answer with JSON') > asked.indexOf('answer_B');
  const content = JSON.stringify({ reasoning: 'It is short.', result: isLast ? 'tie' : 'A' });
  const answer =
    request.method === 'GET' ? { data: [{ id: 'judge-1' }] } : { choices: [{ message: { content } }] };
  response.end(JSON.stringify(answer));
});

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  await service.upload('held-out.jsonl', supportRows().split('\n').slice(0, 12).join('\n'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const input = [{ role: 'user', content: '{{sample.output_text}}' }];
  for (const grader of [
    { type: 'hone_length', name: 'brief', max: 12 },
    { type: 'score_model', name: 'helpful', model: 'judge-1', base_url, input },
  ])
    assert.is((await service.call('POST', '/api/graders', grader)).status, 200);
});
test.after(async () => {
  server.close();
  await closeBrowser();
  await endAll();
});

/** Two steps with a tiny model, validated on rows of their own. */
async function describeTraining(page: Page): Promise<void> {
  await page.getByLabel('Dataset', { exact: true }).selectOption('support.jsonl');
  await typeModel(page, tinyModel('llama'));
  await openGroup(page, 'Basics');
  await page.getByLabel('Max steps').fill('2');
  await openGroup(page, 'Validation and samples');
  await page.getByLabel('Validation dataset').selectOption('held-out.jsonl');
}

test('a run is started with a grader and a golden prompt with a test, and its verdict opens with the score', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  await describeTraining(page);
  await page.getByRole('button', { name: 'Add brief' }).click();
  const golden = '{"prompt": "Say nothing.", "grader": "brief", "threshold": 0}';
  await page.getByLabel('Sample prompts').fill(`Hello {"you"}\n${golden}`);
  await keepPictures(page, 'graders-form');
  const [started] = await Promise.all([
    page.waitForResponse((answer) => answer.url().endsWith('start_training')),
    page.getByRole('button', { name: /Start training|Add to the queue/ }).click(),
  ]);
  const sent = started.request().postDataJSON();
  assert.equal([sent.graders, sent.golden_prompts], [['brief'], ['Hello {"you"}', JSON.parse(golden)]]);
  assert.is((await untilEnded(service)).status, 'completed');
  await sees(page, '1 of 1 prompts pass, 1 before');
  const verdict = await page.locator('#verdict').textContent();
  assert.match(verdict ?? '', /^brief \(grader\) [\d.]+ → [\d.]+ · Evaluation loss/);
  await sees(page, /Fine-tuned · brief [01] · passed/);
  await keepPictures(page, 'graders-verdict');
  assert.equal(await appearanceFaults(page, 'graders-verdict'), []);
  for (const path of ['/training/runs', '/models']) {
    await page.goto(`${service.url}${path}?sort=-score`);
    await page.locator('summary', { hasText: 'Columns' }).click();
    await page.getByLabel('Score', { exact: true }).check();
    await page.getByRole('cell', { name: /^brief [\d.]+$/ }).waitFor();
  }
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
  await context.close();
});

test('a sweep is started for the score of a grader, which its page tells of each trial', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  await describeTraining(page);
  await page.goto(`${service.url}/training/sweeps/new`);
  await page.getByRole('button', { name: 'grader:brief' }).click();
  assert.is(await page.getByLabel('Metric').inputValue(), 'grader:brief');
  const [direction] = await page.getByLabel('Better').locator('option').allTextContents();
  assert.is(direction, 'automatic (higher is better)');
  await page.getByRole('textbox', { name: 'Trials' }).fill('2');
  await keepPictures(page, 'graders-sweep-form');
  await page.getByRole('button', { name: 'Start sweep' }).click();
  await sees(page, /brief \(grader\)/);
  await until(
    async () => (await service.call('GET', '/api/sweeps/sweep_1')).body.state === 'completed',
    'the sweep has ended',
  );
  await sees(page, /Best: trial/);
  await page.getByRole('columnheader', { name: 'brief (grader)' }).waitFor();
  await keepPictures(page, 'graders-sweep');
  assert.equal(await appearanceFaults(page, 'graders-sweep'), []);
  assert.equal(faults, []);
  await context.close();
});

test('a judge is asked which of two evaluations has the better answers', async () => {
  const { model_id: model } = (await service.call('GET', '/api/jobs/train_1')).body;
  for (const as_base of [false, true]) {
    const ask = { dataset: 'held-out.jsonl', model, as_base, rows: 4, graders: ['brief'] };
    const { body } = await service.call('POST', '/api/evaluations', ask);
    await until(async () => {
      const { body: now } = await service.call('GET', `/api/evaluations/${body.evaluation_id}`);
      return now.state === 'completed';
    }, 'the evaluation has ended');
  }
  const { page, context, faults } = await openPage(service.url, '/models/evaluations');
  await page.getByLabel('Model', { exact: true }).selectOption('A base model…');
  await page.getByLabel('Tool syntax').waitFor();
  await page.getByRole('checkbox', { name: 'brief' }).check();
  await keepPictures(page, 'graders-evaluation-form');
  await page.getByRole('checkbox', { name: 'Compare eval_1' }).check();
  await page.getByRole('checkbox', { name: 'Compare eval_2' }).check();
  await page.getByRole('link', { name: 'Compare 2' }).click();
  await page.getByLabel('Judge', { exact: true }).selectOption('helpful');
  await page.getByLabel('Criteria').fill('It is short.');
  await page.getByRole('button', { name: 'Ask the judge' }).click();
  await sees(page, 'The judge agrees with itself');
  await page.getByText('What it said').click();
  await sees(page, /in the other order/);
  await keepPictures(page, 'graders-judge');
  assert.equal(await appearanceFaults(page, 'graders-judge'), []);
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
  await context.close();
});

test.run();
