/** A run that has lost much of its base model: what helps, and taking a strength or a checkpoint that keeps more. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { letGo, littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  untilEnded,
} from '../service.ts';
import { axeViolations, closeBrowser, keepPictures, openPage, sees } from './browser.ts';

const dataDir = temporaryFolder();
const env = littleInstallation('export-fails');
let service: TestService;
let modelId: string;
/** What a trainer tells of a run that learned its rows and forgot much. */
const at = (place: string, share: number) => [
  [`${place}/general_loss`, 3.1 + 1.5 * share ** 2],
  [`${place}/loss`, 3 - 2.6 * share ** 0.5],
];
const figures = {
  'general/base_loss': 3.1,
  'general/loss': 4.6,
  'general/kl': 0.8,
  ...Object.fromEntries([0, 0.25, 0.5, 0.75, 1].flatMap((strength) => at(`strength_${strength}`, strength))),
  ...Object.fromEntries([10, 20, 40].flatMap((step) => at(`checkpoint_${step}`, step / 40))),
};

test.before(async () => {
  service = await startService({ dataDir, env });
  await service.upload('support.jsonl', supportRows());
  await service.call('POST', '/api/finetune/start_training', quickRequest());
  await untilEnded(service);
  modelId = (await service.call('GET', '/api/jobs/train_1')).body.model_id;
  await service.end();
  for (const step of [10, 20, 40]) {
    const folder = join(dataDir, 'jobs', 'train_1', 'checkpoints', `checkpoint-${step}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'COMPLETE'), JSON.stringify({ step, files: {} }));
  }
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const { resultMetrics, artifacts = [] } = store.jobs.get(1) ?? {};
  store.jobs.update(1, {
    resultMetrics: { ...(resultMetrics as object), ...figures },
    artifacts: [
      ...(artifacts as object[]),
      { kind: 'adapter_gguf', path: 'adapter.gguf', bytes: 1, quantization: null },
    ],
  });
  store.close();
  service = await startService({ dataDir, env });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});
const go = () => letGo(join(dataDir, 'exports', modelId), 'all');

test('the run tells what was lost, draws it by strength and checkpoint, and opens the chat with either', async () => {
  const { page, faults } = await openPage(service.url, '/training/train_1');
  await sees(page, /General text[\s\S]*loss 3.10 → 4.60 · KL divergence 0.8/);
  await sees(page, 'The model forgot some of what its base knew');
  await page.getByText('Losses by strength of the adapter and by checkpoint').click();
  for (const heading of ['Loss by strength of the adapter', 'Loss by checkpoint'])
    await page.locator(`hone-chart[heading="${heading}"] canvas`).first().waitFor();
  await sees(page, '1.16 on your rows, 3.48 on general text');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await keepPictures(page, `run-forgot-${colorScheme}`);
    assert.equal(await axeViolations(page), []);
  }
  const table = page.locator('hone-chart[heading="Loss by checkpoint"]');
  await table.getByText('Data table').click();
  await table.getByRole('rowheader', { name: '20', exact: true }).waitFor();
  assert.match(
    (await page.getByRole('link', { name: 'Try step 20' }).getAttribute('href')) ?? '',
    /weights=step:20$/,
  );
  await page.getByRole('link', { name: 'Try at 50%' }).click();
  await page.waitForURL(/\/playground\/.*strength=0\.5/);
  assert.equal(faults, []);
});

test('one click makes the files of a strength or a checkpoint, with progress, and another takes it back', async () => {
  const { page, faults } = await openPage(service.url, '/training/train_1');
  const fold = page.getByText('Losses by strength of the adapter and by checkpoint');
  await fold.click();
  await page.getByRole('button', { name: 'Use this strength 50%' }).click();
  await sees(page, /Q8_0: Writing the GGUF file/);
  await page.getByRole('button', { name: 'Use this checkpoint Step 20' }).click();
  await sees(page, /is being exported to Q8_0/);
  await page.getByRole('button', { name: 'Cancel the export' }).click();
  await page.getByRole('button', { name: 'Cancel the export' }).waitFor({ state: 'detached' });
  assert.is(await page.getByText('The files have').count(), 0);

  await page.getByRole('button', { name: 'Use this strength 50%' }).click();
  await sees(page, /Q8_0: Writing the GGUF file/);
  go();
  await sees(page, 'The files have 50% of the adapter’s strength.');
  await sees(page, 'Each file is the base model with 50% of the adapter’s strength merged into it.');
  // The playground's strength is that of the files.
  const href = await page.getByRole('link', { name: 'Try at 25%' }).getAttribute('href');
  assert.match(href ?? '', /strength=0\.5$/);
  await page.getByRole('button', { name: 'Use this checkpoint Step 20' }).click();
  await sees(page, /Q8_0: Writing the GGUF file/);
  go();
  await sees(page, 'The files have the adapter of step 20.');
  assert.is(await page.getByRole('link', { name: /Try at/ }).count(), 0);
  await page.getByText('In use').waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await keepPictures(page, `run-chosen-${colorScheme}`);
    assert.equal(await axeViolations(page), []);
  }
  assert.ok(readdirSync(join(dataDir, 'model_checkpoints', modelId)).includes('trained'));

  await page.goto(`${service.url}/models/${modelId}`);
  await sees(page, 'Each file is the base model with the adapter of step 20 merged into it.');
  await page.getByText('Export to other types, or again').click();
  await keepPictures(page, 'model-chosen');
  assert.equal(await axeViolations(page), []);
  await page.getByRole('button', { name: 'Use the trained adapter again' }).click();
  await sees(page, /Q8_0: Writing the GGUF file/);
  go();
  await sees(page, 'Each file is the base model with the adapter merged into it.');
  assert.equal(faults, []);
});

test.run();
