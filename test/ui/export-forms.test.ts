/** The page of a model offers merged weights and the adapter as GGUF, or says why not. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../folders.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';
import { storeWithAdapter } from '../stored-adapter.ts';
import { axeViolations, closeBrowser, keepPictures, openPage, sees } from './browser.ts';

const dataDir = temporaryFolder();
const store = (name: string, baseModel: string, more: object = {}) =>
  storeWithAdapter(dataDir, name, baseModel, {
    'adapter_config.json': JSON.stringify({ task_type: 'CAUSAL_LM', ...more }),
  });
let service: InsideService;
const lora = store('lora', 'owner/name');
const dora = store('dora', 'owner/name', { use_dora: true });
const ofGguf = store('of-gguf', '/models/base-Q4_K_M.gguf');

test.before(async () => {
  mkdirSync(join(lora.path, 'merged'));
  for (const name of ['README.md', 'config.json', 'model.safetensors'])
    writeFileSync(join(lora.path, 'merged', name), name);
  service = await openInside({ dataDir });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

const merged = 'Merged weights (safetensors)';
const adapter = 'Adapter as GGUF';
const open = async (modelId: string) => {
  const opened = await openPage(service.url, `/models/${modelId}`);
  await opened.page.getByText('Export to other types, or again').click();
  return opened;
};

test('both are ticked and asked for, beside types or alone', async () => {
  const { page, faults } = await open(lora.modelId);
  await page.getByLabel(merged, { exact: true }).check();
  await page.getByLabel(adapter, { exact: true }).check();
  await page.getByRole('button', { name: 'Export to Q8_0, merged weights, adapter GGUF' }).waitFor();
  assert.equal(await axeViolations(page), []);
  await keepPictures(page, 'model-export-forms');
  await page.getByLabel('Q8_0', { exact: true }).uncheck();
  await page.getByLabel(adapter, { exact: true }).uncheck();
  const path = `**/api/models/${lora.modelId}/export`;
  const asked: unknown[] = [];
  await page.route(path, async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    asked.push(route.request().postDataJSON());
    const response = await route.fetch({ method: 'GET', postData: '' });
    return route.fulfill({ response, status: 202 });
  });
  await page.getByRole('button', { name: 'Export to merged weights', exact: true }).click();
  await page.getByRole('button', { name: 'Export to merged weights', exact: true }).waitFor();
  assert.equal(asked, [{ merged: true, adapter_gguf: false }]);
  assert.equal(faults, []);
});

test('the files of merged weights are listed by their folder', async () => {
  const { page, faults } = await openPage(service.url, `/models/${lora.modelId}`);
  await page.getByText(/^Merged weights \(safetensors\): 3 files/).click();
  await sees(page, 'merged/model.safetensors');
  const link = page.locator('a[download]', { hasText: 'merged/config.json' });
  const text = await (await fetch(new URL((await link.getAttribute('href')) as string, service.url))).text();
  assert.is(text, 'config.json');
  assert.equal(faults, []);
});

for (const [stored, form, other, reason] of [
  [dora, adapter, merged, /is a DoRA, whose magnitudes llama\.cpp does not apply\. Choose merged/],
  [ofGguf, merged, adapter, /is a GGUF file, which has no safetensors weights to merge into/],
] as const) {
  test(`${form} is disabled with the reason: ${reason}`, async () => {
    const { page, faults } = await open(stored.modelId);
    await sees(page, reason);
    assert.ok(await page.getByLabel(form, { exact: true }).isDisabled());
    assert.ok(await page.getByLabel(other, { exact: true }).isEnabled());
    assert.equal(await axeViolations(page), []);
    assert.equal(faults, []);
  });
}

test.run();
