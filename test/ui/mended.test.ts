/** What the page says of runs, models and datasets whose state it used to tell wrongly. No training is needed for it. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { derivedExport } from '../../src/contract/derived-export.ts';
import { openStore } from '../../src/db/store.ts';
import { littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { type StoredModel, storeModel } from '../stored-model.ts';
import {
  axeViolations,
  closeBrowser,
  failuresOf,
  isLive,
  type OpenPage,
  openPage,
  sees,
  settled,
  typeModel,
} from './browser.ts';

let service: TestService;
let model: StoredModel;

test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** Stores two completed runs whose models were deleted; they differ in a setting alone. */
function storeRuns(dataDir: string): void {
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const [from, to] = ['2026-01-01T10:00:00.000Z', '2026-01-01T10:01:00.000Z'];
  for (const seed of [1, 2]) {
    const id = store.jobs.insert({
      ...{ modelId: `gone-${seed}`, state: 'completed', task: 'text-generation', provider: 'standard' },
      ...{ strategy: 'sft', modelName: 'owner/name', datasetName: 'a.jsonl', createdAt: from },
    });
    const settings = { seed, sample_prompts: ['Where is it, please?', 'Thanks'] };
    const point = { step: 10, total_steps: 10, epoch: 1, total_epochs: 1, loss: 1, learning_rate: 1e-4 };
    store.jobs.update(id, {
      ...{ startedAt: from, endedAt: to, earlierSeconds: 3600, acknowledged: true },
      spec: { settings, export: { quantizations: ['Q8_0'] } },
      lastMetric: { ...point, grad_norm: 1, tokens: 1, elapsed_seconds: 60, extra: {} },
    });
  }
  store.close();
}

/** Adds a file as large as Q8_0 to a stored model, which was made after its F16 was verified. */
function addQuantized(dataDir: string, { id, path }: StoredModel, bytes: number): void {
  writeFileSync(join(path, 'model-Q6_K.gguf'), Buffer.alloc(bytes));
  writeFileSync(join(path, 'verification.json'), '{"version":1,"files":{"F16":{"passed":true}}}');
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const files = { 'model-F16.gguf': 'F16', 'model-Q6_K.gguf': 'Q6_K' };
  const artifacts = Object.entries(files).map(([name, quantization]) => ({
    ...{ kind: 'gguf', path: name, bytes, quantization },
  }));
  store.models.setFiles(id, {
    ...{ artifacts, sizeBytes: bytes, verification: null },
    export: derivedExport(artifacts),
  });
  store.close();
}

test.before(async () => {
  const dataDir = temporaryFolder();
  storeRuns(dataDir);
  model = storeModel(dataDir);
  addQuantized(dataDir, model, Math.round(statSync(model.gguf).size * 0.54));
  service = await startService({
    dataDir,
    env: { ...littleInstallation('polite'), HF_HUB_OFFLINE: '1', HUB_TOKEN: '' },
  });
  await service.upload('support.jsonl', supportRows());
});

const stateOf = async (id: string) => (await service.call('GET', `/api/jobs/${id}`)).body.state;
const inState = (id: string, state: string) =>
  until(async () => (await stateOf(id)) === state, `${id} is ${state}`);
const start = async (changes: Record<string, unknown> = {}): Promise<string> =>
  (await service.call('POST', '/api/start_training', quickRequest({ export: 'none', ...changes }))).body
    .job_id;

/** Opens the page of a run that has read it once the page hears of changes, so that nothing is being read any more. */
async function openRun(id: string): Promise<OpenPage> {
  const opened = await openPage(service.url, '/training/runs');
  await isLive(opened.page);
  await opened.page.locator(`tbody a[href="/training/${id}"]`).click();
  await opened.page.locator('.page-head .badge').waitFor();
  return opened;
}

test('a run whose model was deleted offers neither to try it nor its files, and tells the time of all attempts', async () => {
  const { page, faults } = await openPage(service.url, '/');
  await sees(page, 'Live');
  const read = page.waitForResponse((response) => response.url().endsWith('/api/catalog'));
  await page.goto(`${service.url}/training/train_1`);
  await read;
  await sees(page, '1 h 1 min');
  await page.getByRole('link', { name: 'Compare', exact: true }).last().waitFor();
  await page.getByRole('link', { name: 'Try the model' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'View model' }).waitFor({ state: 'detached' });
  assert.equal(faults, []);
});

test('equal states are no difference, and each prompt has a line of its own', async () => {
  const { page, faults } = await openPage(service.url, '/training/compare?run=train_1&run=train_2');
  await page.getByRole('row', { name: /^Seed/i }).waitFor();
  assert.is(await page.getByRole('row', { name: /^State/ }).count(), 0);
  await page.getByLabel('Show identical rows').check();
  await page.getByRole('row', { name: /^State/ }).waitFor();
  const prompts = page.getByRole('row', { name: /^Sample prompts/i }).getByRole('cell');
  const lines = await prompts.first().evaluate((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
  });
  assert.is(await prompts.first().textContent(), 'Where is it, please?\nThanks');
  assert.ok(lines >= 2, `${lines} lines`);
  assert.equal(faults, []);
});

test('a run that made no step can be started again, and waits where another one runs', async () => {
  const one = await start();
  await inState(one, 'running');
  await service.call('POST', `/api/jobs/${one}/stop`);
  const { body: ended } = await service.call('GET', `/api/jobs/${one}`);
  const { page, faults } = await openPage(service.url, `/training/${one}`);
  await page.getByRole('button', { name: 'Start again', exact: true }).waitFor();
  await sees(page, 'before its first step');
  assert.is(await page.getByRole('button', { name: 'Resume' }).count(), 0);

  const other = await start();
  await inState(other, 'running');
  await page.getByRole('button', { name: 'Start again after the running one' }).click();
  await page.locator('.page-head .badge[data-state="queued"]').waitFor();
  const { body: waiting } = await service.call('GET', `/api/jobs/${one}`);
  assert.equal([waiting.state, waiting.started_at], ['queued', null]);
  const seconds = (Date.parse(ended.ended_at) - Date.parse(ended.started_at)) / 1000;
  assert.is(waiting.earlier_seconds, ended.earlier_seconds + seconds);
  assert.is((await service.call('POST', `/api/jobs/${one}/resume`)).status, 409);
  await service.call('POST', `/api/jobs/${other}/stop`);
  await page.locator('.page-head .badge[data-state="running"]').waitFor();
  await service.call('POST', `/api/jobs/${one}/stop`);
  assert.equal(faults, []);
});

test('a late answer about a run does not hide its end', async () => {
  const other = await start();
  await inState(other, 'running');
  const id = await start({ queue: true });
  const { page, faults } = await openRun(id);
  const badge = (state: string) => page.locator(`.page-head .badge[data-state="${state}"]`);
  await badge('queued').waitFor();
  const late: (() => Promise<void>)[] = [];
  let asked = 0;
  await page.route(`**/api/jobs/${id}`, async (route) => {
    asked += 1;
    const response = await route.fetch();
    const isLate = (await response.json()).state === 'running';
    if (isLate) late.push(() => route.fulfill({ response }));
    else await route.fulfill({ response });
    asked -= 1;
  });
  await service.call('POST', `/api/jobs/${other}/stop`);
  await until(() => late.length > 0, 'the running job is read');
  await service.call('POST', `/api/jobs/${id}/stop`);
  await badge('stopped').waitFor();
  await settled(page);
  await until(() => asked === 0, 'the stopped job is read');
  await settled(page);
  for (const answer of late) {
    const arrived = page.waitForResponse((response) => response.url().endsWith(`/api/jobs/${id}`));
    await answer();
    await (await arrived).finished();
  }
  await settled(page);
  // The page of a run is drawn at most every 100 ms.
  await page.waitForTimeout(500);
  assert.is(await badge('stopped').count(), 1);
  assert.equal(faults, []);
});

test('a run that goes on cannot be resumed, though nothing but frames has told so', async () => {
  const id = await start();
  await inState(id, 'running');
  await service.call('POST', `/api/jobs/${id}/stop`);
  const { page, faults } = await openRun(id);
  const resume = page.getByRole('button', { name: 'Start again', exact: true });
  await resume.waitFor();
  const held: (() => Promise<void>)[] = [];
  await page.route(`**/api/jobs/${id}`, (route) => void held.push(() => route.continue()));
  await service.call('POST', `/api/jobs/${id}/resume`);
  await page.locator('.page-head .badge[data-state="running"]').waitFor();
  assert.is(await resume.count(), 0);
  for (const answer of held) await answer();
  await page.unroute(`**/api/jobs/${id}`);
  await service.call('POST', `/api/jobs/${id}/stop`);
  await resume.waitFor();
  assert.equal(faults, []);
});

test('a run that is discarded is so in every tab, and nobody asks for it any more', async () => {
  const id = await start();
  await inState(id, 'running');
  const here = await openPage(service.url, `/training/${id}`);
  const there = await openRun(id);
  const failed = [failuresOf(here.page), failuresOf(there.page)];
  await there.page.locator('.page-head .badge[data-state="running"]').waitFor();
  await here.page.getByRole('button', { name: 'Stop…' }).click();
  await here.page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await here.page.waitForURL(/\/training\/runs$/);
  await sees(there.page, 'This run was discarded');
  assert.equal(failed, [[], []]);
  assert.equal([...here.faults, ...there.faults], []);
});

test('without a network the page asks nothing that fails, and keeps a folder that was typed in', async () => {
  const { page, faults } = await openPage(service.url, '/');
  await sees(page, 'Live');
  const failed = failuresOf(page);
  await page.goto(`${service.url}/training`);
  await typeModel(page, 'owner/absent');
  await sees(page, 'Could not reach the hub');
  const models = page.getByLabel('Model', { exact: true });
  await models.selectOption({ index: 0 });
  await models.selectOption('Path or hub ID…');
  assert.is(await page.getByLabel('Hub ID or folder').inputValue(), 'owner/absent');
  assert.equal(failed, []);
  assert.equal(faults, []);
});

test('an invalid field hides what would follow from it, and a small file is not told with digits that nobody knows', async () => {
  const rows = Array.from({ length: 10 }, (_, index) => `{"input":"in ${index}","output":"out"}`);
  await service.upload('small.jsonl', rows.join('\n'));
  const { page, faults } = await openPage(service.url, '/training');
  const small = page.locator('#dataset option[value="small.jsonl"]');
  await small.waitFor({ state: 'attached' });
  assert.match((await small.textContent()) ?? '', /10 rows, \d kB|10 rows, under 1 kB/);
  const perStep = page.locator('.plan .figure', { hasText: 'Effective batch size' }).locator('dd');
  await page.getByLabel('Batch size', { exact: true }).fill('2');
  await until(async () => /\d/.test((await perStep.textContent()) ?? ''), 'the rows of a step are told');
  await page.getByLabel('Batch size', { exact: true }).fill('many');
  await until(async () => (await perStep.textContent()) === '–', 'they are not');
  assert.equal(faults, []);
});

test('rows of another tool are offered for import instead of listed as errors', async () => {
  const rows = Array.from({ length: 12 }, (_, index) =>
    JSON.stringify({
      conversations: [
        { from: 'human', value: `Do ${index}` },
        { from: 'gpt', value: 'Done' },
      ],
    }),
  );
  await service.upload('sharegpt.jsonl', rows.join('\n'));
  const { page, faults } = await openPage(service.url, '/datasets/sharegpt.jsonl');
  await sees(page, /The rows look like ShareGPT conversations\. Import them/);
  await page.getByRole('button', { name: 'Import…' }).waitFor();
  assert.is(await page.locator('.panel-error').count(), 0);
  assert.is(await page.getByRole('region', { name: 'Dataset errors' }).isVisible(), false);
  await page.getByText('Why they cannot be used as they are').click();
  assert.ok(await page.getByRole('region', { name: 'Dataset errors' }).isVisible());
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
});

test('a model tells which file was verified and why one is large, and what a push lacks before it is tried', async () => {
  const { page, faults } = await openPage(service.url, `/models/${model.modelId}`);
  const failed = failuresOf(page);
  await sees(page, 'full model, F16, verified');
  await sees(page, 'full model, Q6_K, not compared');
  await sees(page, /Q6_K is larger than usual: llama\.cpp stores layers/);

  await page.getByRole('button', { name: 'Push to the hub…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Nothing can be pushed now').waitFor();
  await dialog.getByText(/needs a token, but none is set/).waitFor();
  await dialog.getByLabel('Repository').fill('nonsense');
  await dialog.getByText('The repository must be owner/name.').waitFor();
  await dialog.getByLabel('Repository').fill('owner/name');
  assert.ok(await dialog.getByRole('button', { name: 'Push', exact: true }).isDisabled());
  assert.equal(await axeViolations(page), []);
  await page.keyboard.press('Escape');

  // A page that reads the list of models only after the deletion.
  const slow = await openPage(service.url, '/nowhere');
  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  await slow.page.route('**/api/catalog', async (route) => {
    await held;
    await route.continue();
  });
  await slow.page.goto(`${service.url}/models/${model.modelId}`);
  await sees(slow.page, 'full model, F16, verified');

  const other = await openPage(service.url, `/models/${model.modelId}`);
  const failedThere = failuresOf(other.page);
  await other.page.getByRole('button', { name: 'Delete…' }).click();
  await other.page.getByRole('button', { name: 'Delete model' }).click();
  await sees(other.page, 'No models yet');
  await sees(page, 'This model was deleted');
  release();
  await sees(slow.page, 'This model was deleted');
  assert.equal([failed, failedThere], [[], []]);
  assert.equal([...faults, ...other.faults, ...slow.faults], []);
});

test('a run and a dataset that are deleted on their pages are asked for no more, there or in another tab', async () => {
  const here = await openPage(service.url, '/training/train_1');
  const there = await openPage(service.url, '/training/train_1?view=log');
  const compared = await openPage(service.url, '/training/compare?run=train_1&run=train_2');
  const pages = [here, there, compared];
  const failed = pages.map(({ page }) => failuresOf(page));
  for (const { page } of pages) await isLive(page);
  for (const { page } of [here, there]) await page.locator('.page-head .badge').waitFor();
  await compared.page.getByText('Differences').waitFor();
  await here.page.getByRole('button', { name: 'Delete…' }).click();
  await here.page.getByRole('button', { name: 'Delete run' }).click();
  await here.page.waitForURL(/\/training\/runs$/);
  await sees(there.page, 'This run was deleted');
  await sees(compared.page, 'train_1: It was deleted.');

  await here.page.goto(`${service.url}/datasets/small.jsonl`);
  // Nothing is being asked for while it is deleted.
  await here.page.waitForLoadState('networkidle');
  await here.page.getByRole('button', { name: 'Delete…' }).click();
  await here.page.getByRole('button', { name: 'Delete dataset' }).click();
  await here.page.waitForURL(/\/datasets$/);
  await sees(here.page, 'support.jsonl');
  await here.page.waitForLoadState('networkidle');
  assert.equal(failed, [[], [], []]);
  assert.equal(
    pages.flatMap(({ faults }) => faults),
    [],
  );
});

test('the page of results says when its address names no evaluation, also at its old address', async () => {
  const { page, faults } = await openPage(service.url, '/training/evaluations/results');
  await page.waitForURL(/\/models\/evaluations\/results$/);
  await sees(page, 'This address names no evaluation');
  await page.getByRole('link', { name: 'All evaluations' }).click();
  await page.waitForURL(/\/models\/evaluations$/);
  assert.equal(faults, []);
});

test('the menu of columns is closed by Escape, and by a click or the focus elsewhere, not by its own', async () => {
  const { page, faults } = await openPage(service.url, '/training/runs');
  const opener = page.locator('summary', { hasText: 'Columns' });
  const box = page.getByLabel('Notes');
  await opener.click();
  await page.getByText('Notes', { exact: true }).click();
  assert.ok(await box.isChecked());
  await page.keyboard.press('Escape');
  await box.waitFor({ state: 'hidden' });
  assert.ok(await opener.evaluate((element) => element === document.activeElement));
  await opener.click();
  await box.uncheck();
  await page.getByRole('heading', { name: 'Runs' }).first().click();
  await box.waitFor({ state: 'hidden' });
  // Nothing has the focus after a press beside the boxes.
  await opener.click();
  await page.getByRole('group', { name: 'Columns' }).click({ position: { x: 3, y: 3 } });
  await box.waitFor();
  await page.keyboard.press('Escape');
  await box.waitFor({ state: 'hidden' });
  await opener.press('Enter');
  await box.waitFor();
  await opener.press('Shift+Tab');
  await box.waitFor({ state: 'hidden' });
  assert.equal(faults, []);
});

test('of a run that does not exist, nothing is asked but whether it does', async () => {
  const { page } = await openPage(service.url, '/nowhere');
  const failed = failuresOf(page);
  await page.goto(`${service.url}/training/train_99`);
  await sees(page, 'Run not found');
  await isLive(page);
  await page.waitForLoadState('networkidle');
  assert.equal(failed, ['404 /api/jobs/train_99']);
});

test.run();
