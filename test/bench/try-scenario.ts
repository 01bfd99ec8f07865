import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toRecords } from '../../bench/harness/records.ts';
import { runScenario } from '../../bench/harness/run-scenario.ts';
import type { Scenario } from '../../bench/harness/scenario.ts';
import { root } from '../folders.ts';

const folder = join(root, 'bench');

/** The scenarios that train or export: about half of what all take. */
export const training = [
  'checks',
  'cluster',
  'conversations',
  'export',
  'families',
  'grpo',
  'start',
  'sweep',
  'training',
  'workers',
];

/** The other scenarios. */
export const others = readdirSync(folder)
  .filter((name) => name.endsWith('.ts') && name !== 'main.ts')
  .map((name) => name.slice(0, -'.ts'.length))
  .filter((name) => !training.includes(name));

/**
 * Runs a scenario in its smallest form: all sides do the same work and give the same answers. What they measure is of
 * no account here.
 */
export function tryScenario(name: string): void {
  test(`${name}: the sides give the same answers`, async () => {
    const { scenario } = (await import(join(folder, `${name}.ts`))) as { scenario: Scenario };
    assert.is(scenario.name, name);
    const outcome = await runScenario(scenario, 'test');
    const records = toRecords(outcome, 'here');
    assert.is(records.length, scenario.comparisons.length);
    for (const { record } of records) {
      const skipped = typeof record.met === 'string' && record.met.startsWith('skipped: ');
      if (!skipped) assert.ok((record.ours as number) >= 0, record.metric);
    }
  });
}
