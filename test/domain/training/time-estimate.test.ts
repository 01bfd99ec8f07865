import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Settings } from '../../../src/contract/settings.ts';
import {
  estimateTime,
  type PlannedRun,
  type TimedRun,
} from '../../../src/domain/training/estimate/time-estimate.ts';

const settings = {
  ...{ per_device_train_batch_size: 4, gradient_accumulation_steps: 2, max_seq_length: 512 },
  ...{ eval_split: 0, eval_steps: null, workers: 1 },
} as Settings;

const parts = {
  start: 1,
  check: 1,
  load: 7,
  probe: 1,
  answers: 0,
  save: 0,
  merge: 10,
  convert: 10,
  verify: 10,
};

/** 100 steps of 8 rows with 50 tokens each took 200 s: 5 ms a token. */
const earlier: TimedRun = {
  ...{ name: 'train_1', strategy: 'sft', provider: 'standard', settings, dataset: 'a.jsonl' },
  ...{ rows: 400, heldOutRows: 0, steps: 100, stepSeconds: 200, tokens: 100 * 8 * 50 },
  stepTimes: () => [],
  ...{ evaluationSeconds: null, partSeconds: parts, quantizations: ['Q8_0'] },
};
const plan = (changes: Partial<PlannedRun> = {}): PlannedRun => ({
  ...{ strategy: 'sft', provider: 'standard', settings, dataset: 'a.jsonl', rows: 400, heldOutRows: 0 },
  ...{
    steps: 100,
    quantizations: ['Q8_0'],
    parameters: null,
    bytesPerRow: (name) => (name === 'a.jsonl' ? 200 : 600),
  },
  ...changes,
});
const trained = (changes: Partial<PlannedRun>, runs: readonly TimedRun[] = [earlier]) =>
  estimateTime(runs, plan(changes))?.trainSeconds;

test('the same run takes what it took, and the time follows the work', () => {
  assert.equal(estimateTime([earlier], plan()), {
    ...{ totalSeconds: 240, trainSeconds: 200, prepareSeconds: 10, exportSeconds: 30 },
    ...{ basis: 'train_1', isRough: false },
  });
  assert.is(estimateTime([earlier], plan({ quantizations: [] }))?.totalSeconds, 210);
  assert.is(trained({ steps: 300 }), 600);
  assert.is(trained({ settings: { ...settings, gradient_accumulation_steps: 4 } }), 400);
  // Rows of another dataset are three times as long, but no longer than a sequence may be.
  assert.is(trained({ dataset: 'b.jsonl' }), 600);
  assert.is(trained({ dataset: 'b.jsonl', settings: { ...settings, max_seq_length: 100 } }), 400);
});

test('what a batch takes however small it is grows with the batches, and the rest with the tokens', () => {
  // 2 s a step: half a second for each of two batches, and 2.5 ms for each of about 400 tokens.
  const stepTimes = () =>
    Array.from({ length: 40 }, (_, index) => {
      const tokens = 300 + 50 * (index % 5);
      return { tokens, seconds: 1 + tokens / 400 };
    });
  const seconds = (changes: Partial<Settings>, steps: number) =>
    Math.round(trained({ steps, settings: { ...settings, ...changes } }, [{ ...earlier, stepTimes }]) ?? 0);
  assert.is(seconds({}, 100), 200);
  assert.is(seconds({}, 300), 600);
  assert.is(seconds({ per_device_train_batch_size: 1 }, 400), 500, 'four times the batches');
  assert.is(seconds({ gradient_accumulation_steps: 4 }, 50), 200, 'as many batches');
  assert.is(seconds({ per_device_train_batch_size: 8 }, 50), 150, 'half the batches');
  assert.is(trained({ dataset: 'b.jsonl' }, [{ ...earlier, stepTimes }]), 400, 'three times the tokens');
});

test('a run that writes answers counts them as they take time, until an earlier one has written some', () => {
  const asked = { ...settings, max_answer_tokens: 30 };
  const answering: Partial<PlannedRun> = { strategy: 'grpo', settings: asked };
  // 50 tokens of a row and 30 of its answer, of which each is written in the time of twelve trained ones.
  assert.is(trained(answering), 200 * ((50 + 30 + 30 * 12) / 50));
  const done: TimedRun = { ...earlier, name: 'train_2', strategy: 'grpo', settings: asked, stepSeconds: 900 };
  const { trainSeconds, basis, isRough } = estimateTime([earlier, done], plan(answering)) ?? {};
  assert.equal([trainSeconds, basis, isRough], [900, 'train_2', false]);
  const longer = plan({ strategy: 'grpo', settings: { ...asked, max_answer_tokens: 60 } });
  assert.is(estimateTime([earlier, done], longer)?.isRough, true);
});

test('evaluations count by their rows', () => {
  // The base model and every 25 steps 60 rows: five times 20 rows' work besides the 800 of training.
  const often = { ...settings, eval_steps: 25, eval_split: 0.15 };
  const seconds = trained({ settings: often, heldOutRows: 60 }) as number;
  assert.ok(Math.abs(seconds - 200 * (900 / 800)) < 1e-9, `${seconds}`);
});

test('evaluations with graders count the rows that they answer, unless an earlier run has', () => {
  const seconds = (graders: Settings['graders'], run: TimedRun) =>
    trained({ settings: { ...settings, eval_steps: 100, graders }, heldOutRows: 40 }, [run]) as number;
  // Two evaluations, each with 16 answers for the three that take 6 s.
  const answering = { ...earlier, partSeconds: { ...parts, answers: 6 } };
  const more = 2 * (16 / 3 - 1) * 6;
  const near = (one: number, other: number) =>
    assert.ok(Math.abs(one - other) < 1e-9, `${one}, not ${other}`);
  near(seconds(['right'], answering) - seconds(null, answering), more);
  const evaluated = { ...answering, heldOutRows: 40, evaluationSeconds: 20 };
  near(seconds(['right'], evaluated) - seconds(null, evaluated), more);
  const graded = { ...evaluated, settings: { ...settings, graders: ['right'] } };
  near(seconds(['right'], graded) - seconds(null, evaluated), 0);
});

test('evaluations that an earlier run has made count by the time that they took, and their share for rows by these', () => {
  const evaluated = { ...earlier, heldOutRows: 40, evaluationSeconds: 6, partSeconds: { ...parts, save: 2 } };
  const often = { ...settings, eval_steps: 25, eval_split: 0.1 };
  const seconds = (planned: Partial<PlannedRun>) => trained(planned, [evaluated]) as number;
  assert.is(seconds({ settings: often, heldOutRows: 40 }), 200 + 5 * 6 + 2);
  // 40 rows are worth 10 s of training; a third of that, of the 6 s, grows with the rows.
  assert.is(seconds({ settings: often, heldOutRows: 20 }), 200 + 5 * (6 - 10 / 3 / 2) + 2);
  assert.is(seconds({ settings: { ...often, eval_steps: 200 }, heldOutRows: 40 }), 200 + 2 * 6 + 2);
  assert.is(seconds({}), 200 + 2, 'without rows to validate on there is none');
});

test('the run that is most like it is the basis, and what differs in more than its work is rough', () => {
  const larger: TimedRun = {
    ...{ ...earlier, name: 'train_2', stepSeconds: 300, tokens: 100 * 32 * 50 },
    settings: { ...settings, per_device_train_batch_size: 16 },
  };
  const runs = [larger, earlier];
  assert.is(estimateTime(runs, plan())?.basis, 'train_1');
  assert.is(estimateTime(runs, plan({ settings: larger.settings }))?.basis, 'train_2');
  const two = estimateTime([earlier], plan({ settings: { ...settings, workers: 2 } }));
  assert.is(two?.isRough, true);
  assert.is(estimateTime([earlier], plan({ strategy: 'dpo' }))?.isRough, true);
});

test('runs without a step tell nothing, and what one run does not tell another may', () => {
  assert.is(estimateTime([], plan()), null);
  assert.is(estimateTime([{ ...earlier, steps: 0, tokens: 0, stepSeconds: 0 }], plan()), null);
  const stopped = { ...earlier, name: 'train_3', partSeconds: { start: 1 } };
  const told = estimateTime([stopped, earlier], plan());
  assert.equal([told?.basis, told?.exportSeconds], ['train_3', 30]);
});

test.run();
