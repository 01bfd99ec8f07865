import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../../src/db/store.ts';
import type { Job } from '../../../src/domain/job-record/job.ts';
import { readVerdict } from '../../../src/domain/jobs/verdict/verdict.ts';
import { root, temporaryFolder } from '../../folders.ts';

const store = openStore(join(temporaryFolder(), 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
let seq = 0;
let count = 0;

/** A completed job of 8 steps with these fields and frames. */
function completed(change: Partial<Job>, frames: readonly [type: string, payload: object][]): Job {
  count += 1;
  const id = store.jobs.insert({
    ...{ modelId: `model-${count}`, state: 'completed', task: 'summarization', provider: 'standard' },
    ...{
      strategy: 'sft',
      modelName: 'a/b',
      datasetName: 'rows.jsonl',
      createdAt: '2026-01-01T00:00:00.000Z',
    },
  });
  store.jobs.update(id, {
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T00:00:20.000Z',
    lastMetric: { step: 8, epoch: 2 },
    ...change,
  });
  store.transaction(() => {
    for (const [type, payload] of frames) {
      seq += 1;
      store.events.append({ seq, jobId: id, type, time: `t${seq}`, payload: { ...payload } });
    }
  });
  return store.jobs.get(id) as Job;
}

const evaluation = (step: number, metrics: object): [string, object] => [
  'metrics',
  { kind: 'eval', step, metrics },
];
const sample = (step: number, prompt: string, text: string, more = {}): [string, object] => [
  'log',
  { kind: 'sample', step, prompt, text, ...more },
];

test('the base and the trained model are told side by side, with the answers of each', () => {
  const reference = 'Here.';
  const job = completed(
    {
      earlierSeconds: 22,
      resultMetrics: { final_loss: 0.3, eval_loss: 0.42, perplexity: 1.5, rougeL: 0.47 },
      spec: { settings: { eval_split: 0.1, num_train_epochs: 2 }, dataset: { rows: 200 } },
      verification: { passed: true },
    },
    [
      evaluation(0, { eval_loss: 9 }),
      // Measured again, because the run was stopped before its first step.
      evaluation(0, { eval_loss: 2.31, perplexity: 10.1, rougeL: 0.18 }),
      sample(0, 'Where?', 'What?', { reference }),
      sample(2, 'Where?', 'step 2', { reference }),
      sample(4, 'Where?', 'step 4', { reference }),
      evaluation(8, { eval_loss: 0.42 }),
      sample(8, 'Where?', 'before the resume', { reference }),
      sample(8, 'Where?', 'Here!', { reference }),
      sample(8, 'Where?', 'Here, says the file.', { reference, file: 'Q8_0' }),
      sample(8, 'Who?', 'I.'),
    ],
  );
  assert.equal(readVerdict(store.events, job, [4, 8]), {
    verified: true,
    durationSeconds: 42,
    loss: { base: 2.31, tuned: 0.42 },
    metric: { name: 'rougeL', base: 0.18, tuned: 0.47 },
    reason: null,
    retention: null,
    judgement: {
      kind: 'learned',
      sentence: 'Learned: the evaluation loss fell from 2.31 to 0.42 on 20 held-out rows.',
      notes: [],
      changes: null,
      checkpoint: null,
    },
    prompts: [
      {
        ...{ prompt: 'Where?', reference, test: null, trained: false, base: 'What?', tuned: 'Here!' },
        checkpoints: [
          { step: 4, text: 'step 4' },
          { step: 8, text: 'Here!' },
        ],
        file: { quantization: 'Q8_0', text: 'Here, says the file.' },
      },
      {
        ...{ prompt: 'Who?', reference: null, test: null, trained: false, base: null, tuned: 'I.' },
        checkpoints: [{ step: 8, text: 'I.' }],
        file: null,
      },
    ],
  });
});

test('with the best weights kept, their answers are those of the trained model', () => {
  const job = completed({ resultMetrics: { eval_loss: 0.4, best_step: 4 } }, [
    sample(4, 'Where?', 'the best'),
    sample(8, 'Where?', 'the last'),
    sample(8, 'Where?', 'the file', { file: 'F16' }),
  ]);
  const [prompt] = readVerdict(store.events, job, [])?.prompts ?? [];
  assert.equal([prompt?.tuned, prompt?.checkpoints, prompt?.file?.text], ['the best', [], 'the file']);
});

test('a run is judged by its first grader, whatever its loss, and told so', () => {
  const graders = ['right', 'brief'].map((name) => ({ grader: { name, type: 'hone_length' }, weight: 1 }));
  const told = { 'grader:right': 0.9, 'grader:brief': 0.1, eval_loss: 3, rougeL: 0.2 };
  const job = completed(
    { resultMetrics: told, spec: { settings: { eval_split: 0.1, graders }, dataset: { rows: 200 } } },
    [evaluation(0, { ...told, 'grader:right': 0.25, eval_loss: 2 }), evaluation(8, told)],
  );
  const verdict = readVerdict(store.events, job, []);
  assert.equal(verdict?.metric, { name: 'grader:right', base: 0.25, tuned: 0.9 });
  assert.equal(verdict?.loss, { base: 2, tuned: 3 });
  assert.is(
    verdict?.judgement.sentence,
    'Learned: right (grader) rose from 0.25 to 0.9 on 20 held-out rows.',
  );
});

test('a golden prompt with a test has the scores of both models, by its grader or as equality', () => {
  const golden_prompts = [
    'Who?',
    { prompt: 'Where?', reference: 'Here.' },
    { prompt: 'When?', grader: { name: 'alike', type: 'string_check' }, threshold: 0.8 },
  ];
  const job = completed({ resultMetrics: {}, spec: { settings: { eval_split: 0, golden_prompts } } }, [
    sample(0, 'Who?', 'I.'),
    sample(0, 'Where?', 'There.', { reference: 'Here.' }),
    sample(0, 'When?', 'Late.', { scores: { alike: 0.3 } }),
    sample(8, 'Where?', 'Here. ', { reference: 'Here.' }),
    sample(8, 'When?', 'Now.', { scores: { alike: null } }),
    sample(8, 'When?', 'Now, says the file.', { file: 'Q8_0' }),
  ]);
  const prompts = readVerdict(store.events, job, [])?.prompts ?? [];
  assert.equal(
    prompts.map(({ test, trained }) => [test, trained]),
    [
      [null, false],
      [{ grader: null, threshold: 1, base: 0, tuned: 1 }, false],
      [{ grader: 'alike', threshold: 0.8, base: 0.3, tuned: null }, false],
    ],
  );
});

test('it says why nothing is compared', () => {
  const without = readVerdict(store.events, completed({ resultMetrics: { final_loss: 1 } }, []), []);
  assert.equal([without?.loss, without?.metric, without?.verified], [null, null, null]);
  assert.match(without?.reason ?? '', 'No rows were held out. Set eval_split');
  const older = readVerdict(store.events, completed({ resultMetrics: { eval_loss: 1 } }, []), []);
  assert.equal(older?.loss, { base: null, tuned: 1 });
  assert.match(older?.reason ?? '', 'was not measured');
});

test('what is left of the base model is told, with the strengths of the adapter where much was lost', () => {
  const kept = { 'general/base_loss': 3.2, 'general/loss': 3.25, 'general/kl': 0.02 };
  const retention = (resultMetrics: Job['resultMetrics']) =>
    readVerdict(store.events, completed({ resultMetrics }, []), [8, 30])?.retention;
  assert.equal(retention(kept), {
    loss: { base: 3.2, tuned: 3.25 },
    divergence: 0.02,
    advice: null,
    strengths: [],
    checkpoints: [],
  });
  const lost = retention({
    'general/base_loss': 2,
    'general/loss': 8,
    'strength_1/general_loss': 8,
    'strength_1/loss': 0.4,
    'strength_0.25/general_loss': 3,
    'strength_0.25/loss': 4.5,
    'checkpoint_30/general_loss': 7,
    'checkpoint_8/general_loss': 4,
    'checkpoint_8/loss': 2.5,
    'checkpoint_20/general_loss': 5,
  });
  assert.match(lost?.advice ?? '', /rose from 2.00 to 8.00.*lower learning rate/);
  assert.match(
    lost?.advice ?? '',
    /At 25% it is 3\.00, and 4\.50 on your rows \(0\.40 at full strength\)\.$/,
  );
  assert.equal(lost?.strengths, [
    { strength: 0.25, generalLoss: 3, loss: 4.5 },
    { strength: 1, generalLoss: 8, loss: 0.4 },
  ]);
  assert.equal(
    lost?.checkpoints,
    [
      { step: 8, generalLoss: 4, loss: 2.5 },
      { step: 30, generalLoss: 7, loss: null },
    ],
    'that of step 20 was deleted',
  );
  assert.is(retention({ 'general/base_loss': null, 'general/loss': 8 }), null);
});

test('a judgement has the best checkpoint, the size of the model, and what the trainer found of the validation rows', () => {
  const message = '3 of the 30 validation rows are also in the training dataset, so the figures are better.';
  const job = completed(
    {
      resultMetrics: { eval_loss: 1.9 },
      spec: {
        settings: { eval_split: 0, num_train_epochs: 2, learning_rate: 1e-5 },
        dataset: { rows: 60 },
        validation: { rows: 30 },
      },
      artifacts: [{ kind: 'gguf', path: 'artifacts/model-Q8_0.gguf', bytes: 145e6, quantization: 'Q8_0' }],
    },
    [
      evaluation(0, { eval_loss: 2, mean_token_accuracy: 0.6 }),
      evaluation(8, { eval_loss: 1.9, mean_token_accuracy: 0.61 }),
      ['log', { kind: 'warning', code: 'validation_overlap', message }],
      ['log', { kind: 'warning', code: 'rows_truncated', message: 'Some rows are truncated.' }],
    ],
  );
  const judgement = readVerdict(store.events, job, [8])?.judgement;
  assert.equal(
    [judgement?.kind, judgement?.notes, judgement?.changes],
    ['barely', [message], { num_train_epochs: 8, learning_rate: 1e-3 }],
  );
});

test('prompts with references are trained rows where none was held out', () => {
  const trained = (spec: object) => {
    const job = completed({ resultMetrics: {}, spec }, [
      sample(0, 'Where?', 'What?', { reference: 'Here.' }),
      sample(8, 'Own?', 'Yes.'),
    ]);
    return readVerdict(store.events, job, [])?.prompts.map((prompt) => prompt.trained);
  };
  assert.equal(trained({ settings: { eval_split: 0 } }), [true, false]);
  assert.equal(trained({ settings: { eval_split: 0.1 } }), [false, false]);
  assert.equal(trained({ settings: { eval_split: 0 }, validation: { rows: 12 } }), [false, false]);
});

test('the loss of rlhf is left out, and a job that is not completed has no verdict', () => {
  const job = completed({ resultMetrics: { eval_loss: 0.1, reward: 3 } }, [
    evaluation(0, { eval_loss: 0, reward: 1 }),
  ]);
  const rlhf = readVerdict(store.events, { ...job, strategy: 'rlhf' }, []);
  assert.equal([rlhf?.loss, rlhf?.metric, rlhf?.reason], [null, { name: 'reward', base: 1, tuned: 3 }, null]);
  assert.is(readVerdict(store.events, { ...job, state: 'stopped' }, []), null);
});

test.run();
