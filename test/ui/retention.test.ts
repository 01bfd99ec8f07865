/** A run that has lost much of its base model: what helps, and the strengths of its adapter that keep more. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  quickRequest,
  root,
  startService,
  supportRows,
  temporaryFolder,
  untilEnded,
} from '../service.ts';
import { axeViolations, closeBrowser, keepPictures, openPage, sees } from './browser.ts';

const dataDir = temporaryFolder();
const env = littleInstallation('export-fails');
/** What a trainer tells of a run that learned its rows and forgot much. */
const strengths = [0, 0.25, 0.5, 0.75, 1].flatMap((strength) => [
  [`strength_${strength}/general_loss`, 3.1 + 1.5 * strength ** 2],
  [`strength_${strength}/loss`, 3 - 2.6 * strength ** 0.5],
]);
const figures = {
  'general/base_loss': 3.1,
  'general/loss': 4.6,
  'general/kl': 0.8,
  ...Object.fromEntries(strengths),
};

test.before(async () => {
  const service = await startService({ dataDir, env });
  await service.upload('support.jsonl', supportRows());
  await service.call('POST', '/api/finetune/start_training', quickRequest());
  await untilEnded(service);
  await service.end();
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
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('the run tells what was lost, draws it by strength, and opens the chat at a strength', async () => {
  const service = await startService({ dataDir, env });
  const { page, faults } = await openPage(service.url, '/training/train_1');
  await sees(page, /General text[\s\S]*loss 3.10 → 4.60 · KL divergence 0.8/);
  await sees(page, 'The model forgot some of what its base knew');
  await page.getByText('Losses by strength of the adapter').click();
  await page.locator('hone-chart canvas').first().waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await keepPictures(page, `run-forgot-${colorScheme}`);
    assert.equal(await axeViolations(page), []);
  }
  await page.getByRole('link', { name: 'Try at 50%' }).click();
  await page.waitForURL(/\/playground\/.*strength=0\.5/);
  assert.equal(faults, []);
});

test.run();
