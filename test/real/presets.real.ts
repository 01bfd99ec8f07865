/** Each of the form's presets makes a real model better than its base on rows that it was not trained on. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { presetLine, presetRows, tryPreset } from '../../bench/harness/presets.ts';
import { presetNames } from '../../src/contract/training/presets.ts';
import { endAll, startService, type TestService } from '../service.ts';
import { realModel } from './real-model.ts';

let [service, model]: [TestService?, string?] = [];

test.before(async () => {
  model = await realModel('smollm2');
  service = await startService({ env: { OMP_NUM_THREADS: '2' } });
});
test.after(endAll);

for (const rows of presetRows) {
  for (const preset of presetNames) {
    test(`${preset} with ${rows} rows`, async () => {
      const found = await tryPreset(service as TestService, model as string, preset, rows);
      console.log(`figure: ${presetLine(preset, rows, found)}`);
      assert.ok(found.tuned < found.base, `${found.tuned} after, ${found.base} before`);
    });
  }
}

test.run();
