import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Job } from '../../../src/domain/job-record/job.ts';
import { repeatedRequest } from '../../../src/domain/training/repeated-request.ts';

const run = { task: 'text-generation', modelName: 'a/b', datasetName: 'rows.jsonl', provider: 'standard' };
/** As a client gets it. */
const repeated = (spec: object | null) =>
  JSON.parse(JSON.stringify(repeatedRequest({ ...run, strategy: 'sft', spec } as unknown as Job)));
const settings = { learning_rate: 1e-4, eval_split: 0.1 };

test('a run is repeated with its settings, and the split or the dataset that it was validated on', () => {
  assert.equal(
    repeated({ settings, validation: null, export: { quantizations: ['Q8_0'], required: false } }),
    {
      task: 'text-generation',
      model_name: 'a/b',
      dataset: 'rows.jsonl',
      provider: 'standard',
      strategy: 'sft',
      learning_rate: 1e-4,
      eval_split: 0.1,
    },
  );
  const validated = repeated({ settings, validation: { name: 'held.jsonl' } });
  assert.equal([validated?.validation_dataset, validated?.eval_split], ['held.jsonl', undefined]);
});

test('an export is repeated if it was asked for, or asked not to be', () => {
  assert.is(repeated({ settings, export: null })?.export, 'none');
  const asked = repeated({ settings, export: { quantizations: ['Q4_K_M'], required: true } });
  assert.equal(asked?.export, { quantizations: ['Q4_K_M'] });
  assert.is(repeated({ settings })?.export, undefined);
  assert.is(repeated({ settings, model: { adapter: '/x' } })?.merge_adapter, true);
});

test('a run of unknown settings cannot be repeated', () => {
  assert.is(repeated(null), null);
  assert.is(repeated({}), null);
});

test.run();
