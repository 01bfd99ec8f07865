import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toMovedFile, toMovedJob } from '../../src/domain/moving/source-records.ts';
import type { SourceFile, SourceJob } from '../../src/openai-source/schemas.ts';

const job = (changes: object = {}) =>
  ({
    id: 'ftjob-1',
    created_at: 1_700_000_000,
    finished_at: null,
    status: 'succeeded',
    model: 'gpt-4o-mini',
    fine_tuned_model: null,
    seed: 7,
    training_file: 'file-1',
    validation_file: null,
    result_files: [],
    hyperparameters: { n_epochs: 3 },
    ...changes,
  }) as unknown as SourceJob;

test('the suffix of a job is what it says, or that in the name of its model', () => {
  const suffix = (changes: object) => toMovedJob(job(changes), undefined).suffix;
  assert.is(suffix({ user_provided_suffix: 'ours', fine_tuned_model: 'ft:gpt:acme:other:1' }), 'ours');
  assert.is(suffix({ fine_tuned_model: 'ft:gpt-4o-mini:acme:support:abc' }), 'support');
  assert.is(suffix({ fine_tuned_model: 'ft:gpt-4o-mini:acme::abc' }), null);
  assert.is(suffix({ fine_tuned_model: 'ft:gpt-4o-mini:acme:abc' }), null);
  assert.is(suffix({ fine_tuned_model: 'xx:gpt-4o-mini:acme:support:abc' }), null);
  assert.is(suffix({}), null);
});

test('hyperparameters are found beside and within the method, without objects', () => {
  const method = { type: 'dpo', dpo: { hyperparameters: { beta: 0.2, n_epochs: 'auto', odd: {} } } };
  const moved = toMovedJob(job({ method }), undefined);
  assert.equal([moved.method, moved.hyperparameters], ['dpo', { n_epochs: 'auto', beta: 0.2 }]);
  assert.equal(toMovedJob(job(), undefined).hyperparameters, { n_epochs: 3 });
  assert.is(moved.created_at, '2023-11-14T22:13:20.000Z');
});

test('a file that was stored stays so as long as its size is the same', () => {
  const file = {
    id: 'file-1',
    filename: 'a.jsonl',
    purpose: 'fine-tune',
    bytes: 10,
    created_at: 1,
  } as SourceFile;
  const before = { ...toMovedFile(file, undefined), state: 'stored' as const, dataset: 'a.jsonl' };
  assert.equal([toMovedFile(file, before).state, toMovedFile(file, before).dataset], ['stored', 'a.jsonl']);
  const other = toMovedFile({ ...file, bytes: 11 }, before);
  assert.equal([other.state, other.dataset], ['listed', null]);
});

test.run();
