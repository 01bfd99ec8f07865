import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { platformCacheDir } from '../src/config.ts';
import { presetNames } from '../src/contract/training/presets.ts';
import { makeStarter } from '../src/demo/starter.ts';
import { python, root } from './harness/places.ts';
import { presetLine, presetRows, tryPreset } from './harness/presets.ts';
import type { Scenario, TrialInput } from './harness/scenario.ts';
import { startHone } from './harness/server.ts';

/*
 * The form's presets on the starter model with 60, 400 and 2,000 rows of dates, through the service: the loss on the rows
 * that are held out, as a share of the base model's. `npm run test:real -- presets` does the same with a real model.
 */

async function trial({ dir, size, number }: TrialInput) {
  const data = join(dir, `data-${number}`);
  mkdirSync(data);
  const cacheDir = platformCacheDir(process.env, process.platform);
  const model = await makeStarter({ installDir: root, pythonPath: python, cacheDir });
  const server = await startHone(data, { env: { HF_HUB_OFFLINE: '1' } });
  try {
    const shares: number[] = [];
    for (const preset of presetNames) {
      for (const rows of size === 'test' ? presetRows.slice(0, 1) : presetRows) {
        const found = await tryPreset(server, model, preset, rows);
        console.log(`  ${presetLine(preset, rows, found)}`);
        shares.push(found.tuned / found.base);
      }
    }
    return { figures: { share: Math.max(...shares) }, answer: null };
  } finally {
    await server.end();
  }
}

export const scenario: Scenario = {
  name: 'presets',
  about: 'held-out loss after a training with each preset of the form, as a share of the base model’s',
  runs: { full: 1, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  sides: [{ name: 'hone', about: 'the starter model through POST /api/finetune/start_training', trial }],
  comparisons: [
    {
      metric: `loss, worst of ${presetNames.join(', ')} with ${presetRows.join(', ')} rows`,
      figure: 'share',
      unit: 'of the base',
      better: 'less',
      peer: null,
      goal: { below: 1 },
    },
  ],
};
