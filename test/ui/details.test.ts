/** What a person meets on the way: a drop, a pointer, the Tab key, a wait, a lost service; and what the page may load. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Database } from '../../src/db/sqlite.ts';
import {
  endAll,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { axeViolations, closeBrowser, hasDataset, openGroup, openPage, sees } from './browser.ts';
import { walk } from './keyboard.ts';

const steps = 50;
let service: TestService;

test.after(async () => {
  await closeBrowser();
  await endAll();
});

test.before(async () => {
  const dataDir = temporaryFolder();
  await (await startService({ dataDir })).end();
  const db = new Database(join(dataDir, 'database', 'hone.sqlite'));
  const now = new Date().toISOString();
  db.prepare(
    `INSERT INTO jobs (id, model_id, state, task, provider, strategy, model_name, dataset_name, spec, created_at,
       started_at, ended_at, acknowledged)
     VALUES (1, 'one', 'stopped', 'text-generation', 'standard', 'sft', 'owner/name', 'a.jsonl',
       '{"settings":{"seed":42},"export":null}', ?, ?, ?, 1)`,
  ).run(now, now, now);
  db.prepare(
    `WITH RECURSIVE n (step) AS (SELECT 1 UNION ALL SELECT step + 1 FROM n WHERE step < ?)
     INSERT INTO events (seq, job_id, type, time, payload)
     SELECT 1000 + step, 1, 'metrics', ?, json_object('kind', 'train', 'step', step, 'total_steps', ?, 'epoch', 1,
       'total_epochs', 1, 'loss', 1.0 + 1.0 / step, 'learning_rate', 0.0002, 'grad_norm', 1, 'tokens', step,
       'tokens_per_second', 1000, 'elapsed_seconds', step, 'eta_seconds', 0, 'memory_bytes', 1000000,
       'extra', json('{}'), 'progress', 50)
     FROM n`,
  ).run(steps, now, steps);
  db.close();
  service = await startService({ dataDir });
});

test('the page may load nothing from elsewhere and run nothing that stands in it', async () => {
  const policy = (await service.call('GET', '/')).headers.get('content-security-policy') ?? '';
  assert.match(policy, "default-src 'self'");
  assert.not.match(policy, 'unsafe');
  const { page } = await openPage(service.url, '/');
  await sees(page, 'Live');
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.injected = true';
    document.body.append(script);
    return 'injected' in globalThis;
  });
  assert.is(ran, false);
});

test('a file that is dropped is sent, judged and chosen', async () => {
  const { page, faults } = await openPage(service.url, '/training');
  const text = readFileSync(join(root, 'examples', 'support.jsonl'), 'utf8');
  const transfer = await page.evaluateHandle((content) => {
    const data = new DataTransfer();
    data.items.add(new File([content], 'dropped.jsonl', { type: 'application/jsonl' }));
    return data;
  }, text);
  const place = page.locator('.drop');
  await place.dispatchEvent('dragover', { dataTransfer: transfer });
  await page.locator('.drop[data-over="yes"]').waitFor();
  await place.dispatchEvent('drop', { dataTransfer: transfer });
  await sees(page, '400 rows, all valid');
  await hasDataset(page, 'dropped.jsonl');
  assert.equal(faults, []);
});

test('an upload tells how far it is and can be cancelled; a dataset of another tab is found on coming back', async () => {
  const { page, faults } = await openPage(service.url, '/training');
  let arrived: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  await page.route('**/api/upload_dataset', async (route) => {
    await held;
    await route.abort().catch(() => undefined);
  });
  await page.setInputFiles('#dataset-file', join(root, 'examples', 'support.jsonl'));
  await page.getByRole('progressbar', { name: 'Upload' }).waitFor();
  assert.equal(await axeViolations(page), []);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await sees(page, 'or drop it anywhere on this page');
  arrived();
  assert.is(await page.locator('.panel-error').count(), 0);

  // A list that was asked for before the upload and arrives after it would be without the new dataset.
  await page.locator('#dataset').waitFor();
  await service.upload('elsewhere.jsonl', supportRows());
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await page.locator('#dataset option[value="elsewhere.jsonl"]').waitFor({ state: 'attached' });
  assert.equal(faults, []);
});

test('recommendations tell why and how much memory, and what cannot be used here tells why not', async () => {
  const { page } = await openPage(service.url, '/training');
  const first = page.locator('#model optgroup[label="Suggested for this machine"] option').first();
  await first.waitFor({ state: 'attached' });
  assert.match((await first.textContent()) ?? '', /B parameters, about .* to train/);
  await openGroup(page, 'Method');
  const accelerated = page.getByRole('radio', { name: /^Accelerated/ });
  await sees(page, /The accelerated provider needs/);
  assert.ok(await accelerated.isDisabled());
});

test('a figure says what it means beside its name, by pointer and by keyboard, within the window', async () => {
  const { page, faults } = await openPage(service.url, '/training/train_1');
  const note = page.getByRole('note');
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const about = page.locator('.chart-wide').getByRole('button', { name: 'About Loss' });
    await about.focus();
    await page.keyboard.press('Enter');
    assert.match((await note.textContent()) ?? '', 'Lower is better');
    const box = await note.boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= 800);
    assert.equal(await axeViolations(page), []);
    await page.keyboard.press('Escape');
    await note.waitFor({ state: 'hidden' });
    assert.ok(await about.evaluate((button) => button === document.activeElement));
  }
  await page.getByRole('button', { name: 'About Gradient norm' }).first().click();
  assert.match((await note.textContent()) ?? '', 'clipping');
  await page.mouse.wheel(0, 50);
  await note.waitFor({ state: 'hidden' });
  assert.equal(faults, []);
});

test('a chart is read by the pointer, zoomed by dragging, and shown whole by a double click', async () => {
  const { page, faults } = await openPage(service.url, '/training/train_1');
  const over = page.locator('.chart-wide .u-over');
  await over.waitFor();
  await over.scrollIntoViewIfNeeded();
  const step = async () => Number(await page.locator('.chart-wide .legend-step dd').textContent());
  const box = await over.boundingBox();
  assert.ok(box);
  const at = (share: number) => [box.x + box.width * share, box.y + box.height / 2] as const;
  await page.mouse.move(...at(0.5));
  await until(
    async () => Math.abs((await step()) - steps / 2) <= 1,
    'the legend is of the step under the pointer',
  );
  // The charts of a run share their pointer.
  const others = page.locator('.charts > hone-chart .legend-step dd');
  await until(
    async () => Number(await others.first().textContent()) === (await step()),
    'another chart follows',
  );

  await page.mouse.move(...at(0.4));
  await page.mouse.down();
  await page.mouse.move(...at(0.5));
  await page.mouse.move(...at(0.6));
  await page.mouse.up();
  await page.mouse.move(...at(0.01));
  await until(async () => (await step()) >= steps * 0.35, 'the middle fills the chart');
  await page.mouse.dblclick(...at(0.5));
  await page.mouse.move(...at(0.01));
  await until(async () => (await step()) <= 2, 'the whole is shown again');
  assert.equal(faults, []);
});

for (const path of ['/', '/training', '/training/train_1', '/training/runs', '/playground', '/models']) {
  test(`whatever the Tab key reaches on ${path} is seen to have it`, async () => {
    const { page } = await openPage(service.url, path);
    await page.locator('h1').first().waitFor();
    await page.waitForFunction(() => document.querySelector('.skeleton') === null);
    const reached = await walk(page);
    assert.ok(reached.length > 6, `${reached.length} stops`);
    assert.equal(
      reached.filter(({ isSeen }) => !isSeen),
      [],
    );
  });
}

test('content that is loading keeps its place and is announced to screen readers', async () => {
  const { page } = await openPage(service.url, '/');
  await sees(page, 'Live');
  let answer: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route('**/api/catalog', async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${service.url}/models`);
  await page.locator('.skeleton').first().waitFor();
  assert.is(await page.locator('[role="status"]', { hasText: 'Loading' }).count(), 1);
  assert.equal(await axeViolations(page), []);
  answer();
  await sees(page, 'No models yet');
});

test('a service that went away leaves what is known, says since when, and what to do', async () => {
  const other = await startService();
  const { page } = await openPage(other.url, '/');
  await sees(page, 'Live');
  await sees(page, 'CPU cores');
  // The pages that the first view does without come a little later.
  await page.waitForFunction(() => customElements.get('hone-evaluations') !== undefined);
  await other.end('SIGKILL');
  await sees(page, /Stale since \d\d:\d\d:\d\d/);
  await sees(page, /Hone has not answered since \d\d:\d\d/);
  await sees(page, 'CPU cores');
  assert.equal(await axeViolations(page), []);
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.getByRole('link', { name: 'Evaluations', exact: true }).click();
  await sees(page, /The service does not answer/);
  await sees(page, /Start it again with/);
});

test.run();
