/** The browser tells of a run that ended while nobody looked, if it was allowed to. */
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { littleInstallation } from '../jobs/little-installation.ts';
import { endAll, quickRequest, startService, supportRows, type TestService, until } from '../service.ts';
import { axeViolations, closeBrowser, isLive, openPage, sees } from './browser.ts';

let service: TestService;

test.before(async () => {
  service = await startService({ env: littleInstallation('polite') });
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

async function startRun(): Promise<string> {
  const { body } = await service.call('POST', '/api/start_training', quickRequest());
  await until(
    async () => (await service.call('GET', `/api/jobs/${body.job_id}`)).body.state === 'running',
    'the run has begun',
    300_000,
  );
  return body.job_id;
}

/** Notes what the browser is asked for, and lets the test decide whether the page is hidden. */
async function watch(page: Page): Promise<void> {
  // As text, because what the test's compiler adds to functions is not there in the browser.
  await page.addInitScript({
    content: `
      globalThis.noted = [];
      const Real = Notification;
      globalThis.Notification = class extends Real {
        constructor(title, options) {
          super(title, options);
          noted.push(title + '\\n' + options.body);
        }
        static requestPermission() {
          noted.push('asked');
          return Real.requestPermission();
        }
      };
      let isHidden = false;
      Object.defineProperty(document, 'hidden', { get: () => isHidden });
      globalThis.hide = (value) => {
        isHidden = value;
      };`,
  });
  await page.reload();
}
const noted = (page: Page) => page.evaluate(() => (globalThis as unknown as { noted: string[] }).noted);
const hide = (page: Page, value: boolean) =>
  page.evaluate((is) => (globalThis as unknown as { hide(value: boolean): void }).hide(is), value);
const ended = (page: Page) => page.locator('.page-head .badge[data-state="stopped"]').waitFor();

test('it is asked by a button alone, and told while the page is hidden', async () => {
  const first = await startRun();
  const { page, context, faults } = await openPage(service.url, `/training/${first}`);
  await context.grantPermissions(['notifications'], { origin: service.url });
  await watch(page);
  const button = page.getByRole('button', { name: 'Notify me when runs end' });
  await button.waitFor();
  await isLive(page);
  await hide(page, true);
  await service.call('POST', '/api/stop_training');
  await ended(page);
  assert.equal(await noted(page), [], 'nobody has asked for them');

  const second = await startRun();
  await page.goto(`${service.url}/training/${second}`);
  await button.click();
  await page.getByRole('button', { name: 'Stop notifying me' }).waitFor();
  assert.equal(await axeViolations(page), []);
  await isLive(page);
  await hide(page, true);
  await service.call('POST', '/api/stop_training');
  const { display_name: name } = (await service.call('GET', `/api/jobs/${second}`)).body;
  await until(async () => (await noted(page)).length === 2, 'it was told');
  assert.equal(await noted(page), ['asked', `Stopped: ${name}\n${second}`]);

  const third = await startRun();
  await page.goto(`${service.url}/training/${third}`);
  await page.getByRole('button', { name: 'Stop notifying me' }).waitFor();
  await isLive(page);
  await service.call('POST', '/api/stop_training');
  await ended(page);
  assert.equal(await noted(page), [], 'the page was seen');
  assert.equal(faults, []);
  await context.close();
});

test('a browser that blocks them says so', async () => {
  const jobId = await startRun();
  const { page, context, faults } = await openPage(service.url, `/training/${jobId}`);
  // Every permission but the given ones is denied.
  await context.grantPermissions(['clipboard-read'], { origin: service.url });
  await page.reload();
  await sees(page, 'This browser blocks notifications of this page.');
  assert.equal(faults, []);
  await service.call('POST', '/api/stop_training');
  await context.close();
});

test.run();
