/** How a run is told to clients of OpenAI's fine-tuning API. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { presentFineTuningJob } from '../../src/api/openai/fine-tuning/job-presenters.ts';
import type { FineTuningJob } from '../../src/domain/fine-tuning/fine-tuning-jobs.ts';

const job = {
  ...{ id: 7, strategy: 'sft', modelName: 'owner/name', createdAt: '2026-01-01T00:00:00.000Z' },
  ...{ startedAt: null, endedAt: '2026-01-01T00:01:40.900Z', clock: null, lastMetric: { tokens: 1200 } },
  ...{ errorCode: null, errorMessage: null, errorAdvice: null },
} as unknown as FineTuningJob['job'];

const asked = {
  ...{ jobId: 7, modelName: 'mine', suffix: 'tickets', metadata: { team: 'a' }, trainingFile: 'file-1' },
  ...{ validationFile: 'file-2', learningRateMultiplier: 2 },
};

const succeeded = { state: 'succeeded', asked, modelName: 'mine', trainingFile: 'file-1' } as const;
const made = { resultFile: 'file-3', learningRateMultiplier: 2, settings: null, wandbProject: null };
/** As a client gets it. */
const told = (change: Partial<FineTuningJob>, of: object = {}) =>
  JSON.parse(
    JSON.stringify(presentFineTuningJob({ job: { ...job, ...of }, ...succeeded, ...made, ...change })),
  );

test('a job that has succeeded names its files, its model and its tokens', () => {
  const { id, validation_file, result_files, trained_tokens, finished_at, metadata, error } = told({});
  assert.equal([id, validation_file, result_files], ['ftjob-7', 'file-2', ['file-3']]);
  assert.equal([trained_tokens, finished_at], [1200, 1767225700]);
  assert.equal([metadata, error], [{ team: 'a' }, null]);
});

test('a job whose figures Weights & Biases gets names its project', () => {
  assert.equal(told({}).integrations, []);
  const integrations = [{ type: 'wandb', wandb: { project: 'support' } }];
  assert.equal(told({ wandbProject: 'support' }).integrations, integrations);
});

test('a job that was started by other means has no validation file, suffix or metadata', () => {
  const { validation_file, user_provided_suffix, metadata, result_files } = told({
    ...{ asked: null, resultFile: null },
  });
  assert.equal([validation_file, user_provided_suffix, metadata, result_files], [null, null, {}, []]);
});

test('a job that goes on has neither an end nor tokens; a stopped one has an end', () => {
  for (const state of ['running', 'queued', 'paused'] as const) {
    const { finished_at, trained_tokens, error } = told({ state });
    assert.equal([finished_at, trained_tokens, error], [null, null, null], state);
  }
  assert.is(told({ state: 'cancelled' }).finished_at, 1767225700);
});

test('hyperparameters are those of the run; the batch is an effective one', () => {
  const auto = { n_epochs: 'auto', batch_size: 'auto', learning_rate_multiplier: 2 };
  assert.equal(told({}).hyperparameters, auto);
  const settings = {
    ...{ num_train_epochs: 3, per_device_train_batch_size: 4, gradient_accumulation_steps: 2, beta: 0.2 },
  };
  const known = { n_epochs: 3, batch_size: 8, learning_rate_multiplier: 2 };
  assert.equal(told({ settings }).method, { type: 'supervised', supervised: { hyperparameters: known } });
  assert.equal(told({ settings }, { strategy: 'dpo' }).method, {
    ...{ type: 'dpo', dpo: { hyperparameters: { ...known, beta: 0.2 } } },
  });
});

test('rows that cannot be trained on are a fault of the training file', () => {
  const failed = (errorCode: string | null, errorMessage: string | null = null) =>
    told({ state: 'failed' }, { errorCode, errorMessage, errorAdvice: 'Mend it.' }).error;
  assert.equal(failed('bad_dataset_row', 'Row 3 is empty.'), {
    ...{ code: 'invalid_training_file', message: 'Row 3 is empty. Mend it.', param: 'training_file' },
  });
  assert.equal(failed(null), {
    ...{ code: 'internal', message: 'The training failed. Mend it.', param: null },
  });
});

test.run();
