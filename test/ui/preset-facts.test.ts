/** What the presets are computed from, as the service tells it. */
import './page-globals.ts';

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { formDefaults, presetOf } from '../../ui/settings/form-defaults.ts';
import { connection, datasets, settings } from '../../ui/state/app.ts';
import { draft } from '../../ui/state/drafts/draft.ts';
import { presetFacts } from '../../ui/state/preset-facts.ts';
import { answerWith } from './page-globals.ts';

/** A model that learns at the highest rate, and takes a second for each of sixty rows. */
const estimate = { parameters: 100_000, time: { train_seconds: 60 }, available: { memory_of: 'gpu' } };

test('an estimate that failed is asked for again at a start or when the service is back, and one that arrives before the datasets is kept', async () => {
  const answers: unknown[] = [503, 503, estimate];
  const asked: string[] = [];
  answerWith(({ path }) => {
    asked.push(path);
    return answers.shift();
  });
  settings.put({ per_device_train_batch_size: 8 } as never);
  draft.change({ model: 'owner/name', dataset: 'sixty.jsonl', preset: 'balanced' });

  await presetFacts.ready();
  assert.is(presetFacts.value, null);
  presetFacts.follow();
  assert.is(asked.length, 1, 'a form that is only shown does not ask again and again');
  await presetFacts.ready();
  assert.is(asked.length, 2);
  connection.set({ state: 'live' });
  await presetFacts.ready();
  assert.equal(asked, Array(3).fill('/api/estimate'));

  datasets.put([{ filename: 'sixty.jsonl', num_examples: 60 }] as never);
  assert.is(formDefaults().learning_rate, 3e-3);
  // Nine passes over the 54 rows that are trained on.
  assert.is(presetOf('balanced')?.seconds, 9 * 54);
  await presetFacts.ready();
  assert.is(asked.length, 3, 'what is known is not asked for');
});

test.run();
