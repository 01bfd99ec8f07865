/** The numbers that the form gives to settings that are left alone. */
import './page-globals.ts';

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { choosePreset, formDefaults } from '../../ui/settings/form-defaults.ts';
import { datasets, settings } from '../../ui/state/app.ts';
import { draft } from '../../ui/state/drafts/draft.ts';

test.before.each(() => {
  settings.put({ per_device_train_batch_size: 8 } as never);
  datasets.put([{ filename: 'sixty.jsonl', num_examples: 60 }] as never);
  draft.change({ dataset: 'sixty.jsonl', preset: 'balanced', settings: {} });
});

test('as many rows are held out as the service holds out', () => {
  draft.setting('eval_split', '0.005');
  assert.is(formDefaults().keep_best, true, 'one row at least');
  draft.setting('eval_split', '0');
  assert.is(formDefaults().keep_best, false);
});

test('a preset replaces what was written for its settings, also before a dataset is chosen', () => {
  const written = { num_train_epochs: '2', learning_rate: '1e-5', lora_r: '8' };
  for (const dataset of ['', 'sixty.jsonl']) {
    draft.change({ dataset, settings: written });
    choosePreset('quick');
    assert.equal([draft.value.preset, draft.value.settings], ['quick', { lora_r: '8' }], dataset);
  }
});

test.run();
