import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import WebSocket from 'ws';
import { littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  trainersOf,
  until,
} from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import { closeBrowser, isLive, keepPictures, openPage, sees } from './browser.ts';

test.after(async () => {
  await closeBrowser();
  await endAll();
});

let service: TestService;
const state = async (jobId: string) => (await service.call('GET', `/api/jobs/${jobId}`)).body.state;
const start = async (changes: Record<string, unknown> = {}) =>
  (
    await service.call(
      'POST',
      '/api/start_training',
      quickRequest({ max_steps: 5_000, export: 'none', ...changes }),
    )
  ).body.job_id as string;
const atStep = (jobId: string, step: number) =>
  until(
    async () => ((await service.call('GET', `/api/jobs/${jobId}`)).body.last_metric?.step ?? 0) >= step,
    `${jobId} reached step ${step}`,
  );

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
});

test('continue changes nothing, stop and save can be resumed, discard leaves nothing', async () => {
  const jobId = await start();
  await atStep(jobId, 3);
  const { page, faults } = await openPage(service.url, `/training/${jobId}`);
  const dialog = page.getByRole('dialog');

  await page.getByRole('button', { name: 'Stop…' }).click();
  await keepPictures(page, 'run-stop-light');
  await dialog.getByRole('button', { name: 'Continue training' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.is(await state(jobId), 'running');

  await page.getByRole('button', { name: 'Stop…' }).click();
  await dialog.getByRole('button', { name: 'Stop and save' }).click();
  await page.locator('.page-head .badge[data-state="stopped"]').waitFor();
  assert.is(await state(jobId), 'stopped');
  const stoppedAt = (await service.call('GET', `/api/jobs/${jobId}`)).body.last_metric.step;

  await page.getByRole('button', { name: 'Resume' }).click();
  await atStep(jobId, stoppedAt + 2);
  await page.locator('.page-head .badge[data-state="running"]').waitFor();

  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Stop…' }).click();
  await dialog.getByRole('button', { name: 'Discard' }).click();
  await page.waitForURL(/\/training\/runs$/);
  await sees(page, 'No runs yet');
  assert.is((await service.call('GET', `/api/jobs/${jobId}`)).status, 404);
  await until(() => trainersOf(service.dataDir).length === 0, 'the trainer ended');
  assert.equal(faults, []);
});

test('a second run waits in the queue, and the stop button of an ended run does not stop another', async () => {
  const first = await start();
  await atStep(first, 1);
  const { page, faults } = await openPage(service.url, `/training/${first}`);
  await page.getByRole('button', { name: 'Stop…' }).click();
  const second = await start({ queue: true });
  // Ends the first run behind the back of the open dialog.
  await service.call('POST', `/api/jobs/${first}/stop`);
  await until(async () => (await state(second)) === 'running', 'the second run began');
  await page.getByRole('dialog').getByRole('button', { name: 'Stop and save' }).click();
  await sees(page, 'had already ended');
  assert.is(await state(second), 'running');

  const third = await start({ queue: true });
  await page.goto(`${service.url}/training/${third}`);
  await page.getByRole('button', { name: 'Remove from queue' }).click();
  await page.locator('.page-head .badge[data-state="stopped"]').waitFor();

  await page.goto(`${service.url}/training/runs`);
  await page.getByLabel(`Select ${first}`, { exact: true }).check();
  await page.getByLabel(`Select ${second}`, { exact: true }).check();
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.getByRole('heading', { name: 'Loss', exact: true }).waitFor();
  await sees(page, 'Differences');
  await service.call('POST', `/api/jobs/${second}/stop`);
  assert.equal(faults, []);
});

test('a second tab shows the same run, and a failure tells cause, next step and detail', async () => {
  const jobId = await start();
  await atStep(jobId, 2);
  const one = await openPage(service.url, '/', { theme: 'dark' });
  const two = await openPage(service.url, `/training/${jobId}`);
  await sees(one.page, 'Running now');
  await keepPictures(one.page, 'dashboard-running-dark');
  await two.page.locator('.page-head .badge[data-state="running"]').waitFor();
  for (const pid of trainersOf(service.dataDir)) process.kill(pid, 'SIGKILL');
  await sees(one.page, 'The run was interrupted');
  await sees(two.page, /was killed by SIGKILL/);
  await sees(two.page, /Resume it to continue/);
  await two.page.locator('.panel-error summary').click();
  await two.page.getByRole('button', { name: 'Copy detail' }).waitFor();
  assert.ok(await two.page.getByRole('button', { name: 'Resume' }).isEnabled());
  await two.page.goto(`${service.url}/training/runs`);
  const figures = two.page.locator(`tr:has(a[href="/training/${jobId}"]) td.right`);
  for (const index of [0, 1])
    assert.match(await figures.nth(index).innerText(), /\d/, 'steps and loss are kept');
  assert.equal([...one.faults, ...two.faults], []);
});

test('a run that is deleted elsewhere is gone from every tab', async () => {
  const jobId = await start();
  await atStep(jobId, 1);
  const tabs = await Promise.all(
    ['/', '/training/runs', `/training/${jobId}`, `/training/compare?run=${jobId}`].map((path) =>
      openPage(service.url, path),
    ),
  );
  const [home, runs, run, comparison] = tabs.map(({ page }) => page) as [Page, Page, Page, Page];
  const inTable = runs.locator(`tbody a[href="/training/${jobId}"]`);
  await inTable.waitFor();
  await sees(home, 'Running now');
  for (const { page } of tabs) await isLive(page);
  await service.call('POST', `/api/jobs/${jobId}/stop`);
  await run.locator('.page-head .badge[data-state="stopped"]').waitFor();
  assert.is((await service.call('DELETE', `/api/jobs/${jobId}`)).status, 200);
  await sees(run, 'This run was deleted');
  await sees(comparison, /It was deleted/);
  await inTable.waitFor({ state: 'detached' });
  await until(async () => (await home.locator(`a[href="/training/${jobId}"]`).count()) === 0, 'it left home');
  // A tab that was not connected meanwhile hears of it once it is.
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training?since=0`);
  const told: unknown[] = [];
  socket.on('message', (data) => {
    const { type, state: said, job_id } = JSON.parse(String(data));
    if (type !== 'snapshot' && job_id === jobId) told.push({ type, state: said });
  });
  await until(() => told.length > 0, 'the deletion is told again');
  socket.close();
  assert.equal(told, [{ type: 'status', state: 'deleted' }]);
  assert.equal(
    tabs.flatMap(({ faults }) => faults.filter((fault) => !fault.includes('404'))),
    [],
  );
});

test('two runs at once: the dashboard shows the older one until it ends, the list of runs both', async () => {
  const two = await startService({ env: littleInstallation('polite'), args: ['--parallel', '2'] });
  await two.upload('support.jsonl', supportRows());
  await two.call('POST', '/api/start_training', quickRequest({ export: 'none' }));
  const { page, faults } = await openPage(two.url, '/');
  await page.locator('a.button[href="/training/train_1"]').waitFor();
  await two.call('POST', '/api/start_training', quickRequest({ export: 'none' }));
  await page.locator('.list a[href="/training/train_2"]').first().waitFor();
  assert.is(await page.locator('a.button[href="/training/train_1"]').count(), 1);
  await two.call('POST', '/api/start_training', quickRequest({ export: 'none', queue: true }));
  const next = page.getByRole('region', { name: 'Next' });
  await next
    .getByRole('link')
    .filter({ hasText: /after the running one|starts at about/ })
    .waitFor();
  const found = await appearanceFaults(page, 'dashboard-next');
  for (const [id, shown] of [
    ['train_1', 'running'],
    ['train_3', 'queued'],
  ]) {
    await page.goto(`${two.url}/training/${id}`);
    await page.locator(`.page-head .badge[data-state="${shown}"]`).waitFor();
    found.push(...(await appearanceFaults(page, `run-${shown}`)));
  }
  assert.equal(found, []);
  await page.goto(two.url);
  await next.waitFor();
  await two.call('POST', '/api/jobs/train_3/stop');
  await next.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop and save' }).click();
  await page.locator('a.button[href="/training/train_2"]').waitFor();
  await page.goto(`${two.url}/training/runs`);
  await page.locator('tr:has(a[href="/training/train_2"]) .badge[data-state="running"]').waitFor();
  await page.locator('tr:has(a[href="/training/train_1"]) .badge[data-state="stopped"]').waitFor();
  await two.call('POST', '/api/jobs/train_1/resume');
  await page.locator('tr:has(a[href="/training/train_1"]) .badge[data-state="running"]').waitFor();
  assert.is(await page.locator('.badge[data-state="running"]').count(), 2);
  assert.equal(faults, []);
  await two.call('POST', '/api/jobs/train_2/stop');
});

test.run();
