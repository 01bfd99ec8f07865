import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  untilEnded,
} from '../service.ts';
import { pageFaults } from './appearance.ts';
import { axeViolations, closeBrowser, openFold, openPage, sees, sidewaysPixels } from './browser.ts';

test.after(async () => {
  await closeBrowser();
  await endAll();
});

let empty: TestService;
let full: TestService;
let modelId = '';
const hostile = '<img src=x onerror=alert(1)><b>bold</b> \u202egnp.exe 🚀';
const hostileFolder = `<script>alert(1)${'very-long-name-'.repeat(12)}`;

test.before(async () => {
  [empty, full] = await Promise.all([
    // Nothing answers there.
    // Without the base models of this machine, which could be asked.
    startService({
      args: ['--cluster', '127.0.0.1:9'],
      env: { XDG_CACHE_HOME: temporaryFolder(), HF_HOME: temporaryFolder() },
    }),
    startService({ warm: true }),
  ]);
  const rows = Array.from({ length: 12 }, (_, index) =>
    JSON.stringify({ input: `${hostile} ${index} ${'x'.repeat(2_000)}`, output: hostile }),
  );
  await full.upload('support.jsonl', supportRows());
  await full.upload('hostile.jsonl', rows.join('\n'));
  const folder = join(temporaryFolder(), hostileFolder.replace('/', ''));
  cpSync(tinyModel('llama'), folder, { recursive: true });
  const train = async (changes: Record<string, unknown>) => {
    await full.call(
      'POST',
      '/api/start_training',
      quickRequest({ model_name: folder, max_steps: 8, ...changes }),
    );
    return (await untilEnded(full)).status;
  };
  await full.upload('held.jsonl', supportRows().split('\n').slice(0, 12).join('\n'));
  assert.is(await train({ validation_dataset: 'held.jsonl', eval_steps: 3 }), 'completed');
  assert.is(await train({ dataset: 'hostile.jsonl' }), 'error');
  modelId = (await full.call('GET', '/api/models/')).body[0].model_id;
  const alias = { name: 'hostile@live', model: modelId };
  assert.is((await full.call('POST', '/api/aliases', alias)).status, 200);
  const asked = {
    model: modelId,
    messages: [{ role: 'user', content: hostile }],
    max_tokens: 8,
    store: true,
  };
  assert.is((await full.call('POST', '/v1/chat/completions', asked)).status, 200);
});

const pagesOf = () => [
  { name: 'dashboard-empty', service: empty, path: '/', text: /Nothing answers at 127\.0\.0\.1:9/ },
  { name: 'models-empty', service: empty, path: '/models', text: 'No models yet' },
  { name: 'playground-empty', service: empty, path: '/playground', text: 'No models yet' },
  { name: 'traffic-empty', service: empty, path: '/traffic', text: 'No answers are kept yet' },
  { name: 'runs-empty', service: empty, path: '/training/runs', text: 'No runs yet' },
  { name: 'nothing', service: empty, path: '/nowhere', text: 'Page not found' },
  { name: 'run-missing', service: empty, path: '/training/train_99', text: 'Run not found' },
  { name: 'training-empty', service: empty, path: '/training', text: 'Choose a dataset.' },
  { name: 'compare-empty', service: empty, path: '/training/compare', text: 'No runs yet' },
  { name: 'sweeps-empty', service: empty, path: '/training/sweeps', text: 'No sweeps yet' },
  { name: 'sweep-new-empty', service: empty, path: '/training/sweeps/new', text: 'Choose a dataset.' },
  { name: 'sweep-missing', service: empty, path: '/training/sweeps/sweep_9', text: /no sweep|not found/i },
  { name: 'aliases-empty', service: empty, path: '/models/aliases', text: 'No aliases yet' },
  { name: 'graders-empty', service: empty, path: '/models/graders', text: 'No graders yet' },
  { name: 'evaluations-empty', service: empty, path: '/models/evaluations', text: 'No evaluations yet' },
  {
    name: 'evaluation-missing',
    service: empty,
    path: '/models/evaluations/results?eval=eval_9',
    text: 'There is no evaluation eval_9.',
  },
  { name: 'datasets-empty', service: empty, path: '/datasets', text: 'No datasets yet' },
  { name: 'move-empty', service: empty, path: '/datasets/openai', text: 'Nothing is listed yet' },
  { name: 'settings', service: empty, path: '/settings', text: 'Free disk space' },
  { name: 'access-empty', service: empty, path: '/access', text: 'No access keys' },
  { name: 'base-models-empty', service: empty, path: '/models/base', text: 'Recommended for this machine:' },
  { name: 'base-models', service: full, path: '/models/base', text: /just now| ago/ },
  { name: 'model-missing', service: empty, path: '/models/nothing', text: 'Model not found' },
  { name: 'dashboard', service: full, path: '/', text: 'Recent runs' },
  { name: 'training', service: full, path: '/training', text: 'Customize' },
  { name: 'run', service: full, path: '/training/train_1', text: 'Tokens per second' },
  { name: 'run-failed', service: full, path: '/training/train_2', text: 'About this failure' },
  { name: 'run-settings', service: full, path: '/training/train_2?view=settings', text: 'learning_rate' },
  { name: 'run-samples', service: full, path: '/training/train_1?view=samples', text: 'Base model' },
  { name: 'run-log', service: full, path: '/training/train_1?view=log', text: 'Copy log' },
  { name: 'runs', service: full, path: '/training/runs', text: '2 of 2' },
  { name: 'compare', service: full, path: '/training/compare?run=train_1&run=train_2', text: 'Differences' },
  { name: 'playground', service: full, path: `/playground/${modelId}`, text: 'Max new tokens' },
  { name: 'traffic', service: full, path: '/traffic', text: 'Make rows…' },
  { name: 'aliases', service: full, path: '/models/aliases', text: 'hostile@live' },
  { name: 'models', service: full, path: '/models', text: '1 of 1' },
  { name: 'model', service: full, path: `/models/${modelId}`, text: 'Lineage' },
];

test('every page in both themes: axe finds nothing, nothing scrolls sideways, hostile names are text', async () => {
  const found: string[] = [];
  for (const service of [empty, full]) {
    found.push(
      ...(await pageFaults(
        service,
        pagesOf().filter((entry) => entry.service === service),
      )),
    );
  }
  assert.equal(found, []);
});

test('a dataset with faults names line and field, hostile cells are text, and it can be deleted', async () => {
  const { page, faults } = await openPage(full.url, '/training');
  const bad = [...Array(11).fill('{"input":"a","output":"b"}'), '{"input":"a"}', '{"input":1,"output":"b"}'];
  await page.setInputFiles('#dataset-file', {
    name: 'bad.jsonl',
    mimeType: 'application/jsonl',
    buffer: Buffer.from(bad.join('\n')),
  });
  await sees(page, '2 errors');
  const row = page.locator('.panel-error tbody tr').first();
  assert.match((await row.textContent()) ?? '', /12\s+output\s+missing required field/);
  assert.equal(await axeViolations(page), []);

  // Cells of a megabyte: cut to what a table can show, the page as quick and as narrow as before.
  const cell = `🚀\u202e<b>${'x'.repeat(1_000_000)}`;
  const rows = Array.from({ length: 11 }, () => JSON.stringify({ input: cell, output: cell }));
  await page.setInputFiles('#dataset-file', {
    name: 'huge.jsonl',
    mimeType: 'application/jsonl',
    buffer: Buffer.from(rows.join('\n')),
  });
  await sees(page, '11 rows, all valid');
  await openFold(page, 'First rows of');
  await sees(page, /\(1,000,00\d characters\)/);
  assert.ok((await sidewaysPixels(page)) <= 0);

  await page.getByLabel('Dataset', { exact: true }).selectOption('hostile.jsonl');
  await page
    .getByText(/<img src=x onerror/)
    .first()
    .waitFor();
  assert.is(await page.locator('.preview img, .preview b').count(), 0);
  await page.getByRole('button', { name: 'Delete…' }).click();
  assert.equal(await axeViolations(page), []);
  await page.getByRole('button', { name: 'Delete dataset' }).click();
  await sees(page, 'was deleted');
  assert.is((await full.call('GET', '/api/datasets/hostile.jsonl')).status, 404);
  assert.equal(faults, []);
});

test('the keyboard alone reaches a page, a chart and the theme', async () => {
  const { page, faults } = await openPage(full.url, '/');
  await sees(page, 'Recent runs');
  await page.keyboard.press('Tab');
  assert.is(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content');
  await page.keyboard.press('Enter');
  assert.is(await page.evaluate(() => document.activeElement?.id), 'content');
  await page.locator('nav[aria-label="Main"] a', { hasText: 'Training' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1');

  await page.goto(`${full.url}/training/train_1`);
  await page.locator('.chart-wide .chart-area:not([aria-label*="chart of 0 points"])').focus();
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(
    () => document.querySelector('.chart-wide .legend-step dd')?.textContent === '7',
  );
  await page.keyboard.press('+');
  await page.keyboard.press('0');

  // Who has asked for less motion gets none.
  assert.is(await page.evaluate(() => document.getAnimations().length), 0);
  await page.locator('.top').getByRole('link', { name: 'Settings' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('radio', { name: 'Dark' }).focus();
  await page.keyboard.press('Space');
  await page.reload();
  assert.is(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  assert.equal(faults, []);
});

test('a run, its settings, the comparison and the model tell what it was trained and validated on', async () => {
  const { page, faults } = await openPage(full.url, '/training/train_1?view=settings');
  await sees(page, /support\.jsonl, validated on held\.jsonl/);
  const settings = page.getByRole('region', { name: 'Settings of the run' });
  await settings.getByText('Inputs with outputs (input, output)').waitFor();
  await settings.getByText('held.jsonl').waitFor();
  await page.goto(`${full.url}/training/compare?run=train_1&run=train_2`);
  const row = page.getByRole('row', { name: /^Validation dataset/ });
  assert.match((await row.textContent()) ?? '', /held\.jsonl\s*none/);
  await page.goto(`${full.url}/models/${modelId}`);
  await sees(page, /validated on held\.jsonl/);
  assert.equal(faults, []);
});

test('a service error is shown with its message and the next step', async () => {
  const { page } = await openPage(full.url, '/models');
  await sees(page, '1 of 1');
  await page.route('**/api/catalog', (route) =>
    route.fulfill({ status: 507, body: JSON.stringify({ detail: 'The disk is full.' }) }),
  );
  await page.reload();
  await sees(page, 'Could not load the models');
  await sees(page, 'Free some disk space, then try again.');
  assert.equal(await axeViolations(page), []);
});

test.run();
