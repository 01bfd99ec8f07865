import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fakeDriver } from '../native/fake/build.ts';
import { endAll, startService, temporaryFolder, tinyModel, until } from '../service.ts';
import { axeViolations, closeBrowser, keepPicture, openPage, sees } from './browser.ts';

test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('one click on the example, pressed twice, starts one training of it', async () => {
  const cache = temporaryFolder();
  const starter = join(cache, 'hone', 'starter-tiny');
  mkdirSync(join(cache, 'hone'));
  cpSync(tinyModel('llama'), starter, { recursive: true });
  writeFileSync(join(starter, 'starter.json'), '{}');
  const service = await startService({ env: { XDG_CACHE_HOME: cache } });
  const { page, faults } = await openPage(service.url, '/');
  const button = page.getByRole('button', { name: 'Train on the example' });
  await button.waitFor();
  await page.getByRole('button', { name: 'Train on summarization' }).waitFor();
  await sees(page, /400 rows/);
  assert.equal(await axeViolations(page), []);
  const ways = page.locator('.welcome .list').first().locator('b');
  assert.equal(await ways.allInnerTexts(), ['Documents', 'Traffic', 'Import', 'Example']);
  await keepPicture(page, 'first-visit');
  await page.getByRole('link', { name: 'Make rows of documents' }).click();
  await page.waitForURL(/\/datasets\/documents$/);
  await page.goBack();
  await page.getByRole('link', { name: 'Keep the answers' }).click();
  await sees(page, 'No answers are kept yet');
  await page.goBack();
  await button.waitFor();
  await button.dblclick();
  await page.waitForURL(/\/training\/train_1$/);
  const { body } = await service.call('GET', '/api/jobs');
  assert.is(body.total, 1);
  assert.is(body.jobs[0].dataset, 'support.jsonl');
  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await page.waitForURL(/\/training\/runs$/);
  assert.is((await service.call('GET', '/api/jobs')).body.total, 0);
  assert.equal(faults, []);
});

if (process.platform === 'linux') {
  test('a GPU is told with its name, memory, temperature and power', async () => {
    const driver = fakeDriver('modern');
    test.after(() => rmSync(driver, { recursive: true, force: true }));
    const service = await startService({ env: { LD_LIBRARY_PATH: driver, FAKE_GPU_COUNT: '2' } });
    const { page, faults } = await openPage(service.url, '/');
    await page.locator('.machine .facts').getByText('NVIDIA Fake 0').waitFor();
    await page.locator('.machine .facts').getByText('16 GB').first().waitFor();
    await until(
      async () => /°C.* W/.test((await page.locator('hone-live-hardware').textContent()) ?? ''),
      'temperature and power are shown',
    );
    await page.locator('hone-live-hardware').getByText('NVIDIA Fake 1 GPU memory').waitFor();
    assert.equal(await axeViolations(page), []);
    await keepPicture(page, 'dashboard-gpu-light-1280');
    assert.equal(faults, []);
  });
}

test.run();
