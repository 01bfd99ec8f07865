import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type EvaluatedStep, type JudgedRun, judge } from '../../../src/domain/jobs/verdict/judgement.ts';

const at = (step: number, loss: number, accuracy: number | null = null): EvaluatedStep => ({
  step,
  loss,
  accuracy,
  score: null,
});
const scored = (step: number, score: number): EvaluatedStep => ({ step, loss: 1, accuracy: null, score });
const run = (changes: Partial<JudgedRun> = {}): JudgedRun => ({
  loss: { base: 7.75, tuned: 0.56 },
  metric: { name: 'perplexity', base: 2300, tuned: 1.75 },
  evaluations: [at(0, 7.75, 0.17), at(28, 1.88, 0.71), at(56, 0.56, 0.95)],
  heldOutRows: 40,
  epochs: 4,
  trainedEpochs: 4,
  maxSteps: 0,
  learningRate: 3e-3,
  lastStep: 56,
  bestStep: null,
  kept: [28, 56],
  suitedRate: 3e-3,
  warnings: [],
  ...changes,
});

test('what was learned is told by how much, and on how many rows', () => {
  assert.equal(judge(run()), {
    kind: 'learned',
    sentence:
      'Learned: the evaluation loss fell from 7.75 to 0.56 on 40 held-out rows. 95% of the tokens are right, 17% before.',
    notes: [],
    changes: null,
    checkpoint: null,
  });
  const unknown = [at(28, 1.88), at(56, 0.56, 0.95)];
  assert.match(judge(run({ evaluations: unknown })).sentence, /95% of the tokens are right\.$/);
  assert.match(judge(run({ evaluations: [at(0, 7.75)] })).sentence, /on 40 held-out rows\.$/);
  const few = judge(run({ heldOutRows: 6 }));
  assert.equal(
    [few.kind, few.notes],
    ['learned', ['Only 6 rows were held out, so these figures are rough.']],
  );
});

test('a loss that hardly fell is told with what to try: more epochs, and the rate that suits the model', () => {
  const slow = judge(
    run({
      loss: { base: 7.75, tuned: 7.2 },
      evaluations: [at(0, 7.75, 0.14), at(24, 7.2, 0.15)],
      ...{ epochs: 3, trainedEpochs: 3, lastStep: 24, learningRate: 2e-4 },
    }),
  );
  assert.is(slow.kind, 'barely');
  assert.is(
    slow.sentence,
    'Barely learned: 15% of the tokens are right, and the evaluation loss fell from 7.75 to 7.20 on 40 held-out rows. Try 12 epochs and a learning rate of 0.003.',
  );
  assert.equal(slow.changes, { num_train_epochs: 12, learning_rate: 3e-3 });
  // A rate is not advised where the size of the model is not known, nor one that is as good as the present.
  const unknown = { loss: { base: 2, tuned: 1.99 }, evaluations: [at(0, 2), at(24, 1.99)], lastStep: 24 };
  assert.equal(judge(run({ ...unknown, suitedRate: null })).changes, { num_train_epochs: 16 });
  assert.equal(judge(run({ ...unknown, learningRate: 2e-3 })).changes, { num_train_epochs: 16 });
  // Many steps at a rate that suits it: there is nothing to advise.
  const long = judge(run({ ...unknown, evaluations: [at(0, 2), at(900, 1.99)], lastStep: 900 }));
  assert.equal([long.kind, long.changes], ['barely', null]);
  assert.not.match(long.sentence, 'Try');
});

test('a base model that was good already has learned although few percent were to be gained', () => {
  const good = run({ loss: { base: 1.88, tuned: 1.6 }, evaluations: [at(0, 1.88, 0.63), at(56, 1.6, 0.68)] });
  assert.is(judge(good).kind, 'learned');
  // Half of the tokens wrong needs more than that.
  const poor = run({ loss: { base: 5, tuned: 4 }, evaluations: [at(0, 5, 0.2), at(56, 4, 0.3)] });
  assert.is(judge(poor).kind, 'barely');
});

test('a training that made it worse did not learn', () => {
  const { kind, sentence } = judge(
    run({ loss: { base: 1, tuned: 1.4 }, evaluations: [at(0, 1), at(56, 1.4)] }),
  );
  assert.is(kind, 'barely');
  assert.match(sentence, /^Did not learn: the evaluation loss rose from 1\.00 to 1\.40/);
});

test('an earlier evaluation that was better is overfitting, and its checkpoint is offered while it is kept', () => {
  const evaluations = [at(0, 2), at(40, 0.3, 0.9), at(80, 0.5, 0.9), at(120, 0.6, 0.9)];
  const long = run({
    loss: { base: 2, tuned: 0.6 },
    evaluations,
    lastStep: 120,
    epochs: 9,
    trainedEpochs: 9,
    kept: [40, 120],
  });
  assert.equal(judge(long), {
    kind: 'overfitted',
    sentence:
      'Overfitted: the evaluation loss was best at step 40 (0.30) and had risen to 0.60 by step 120. Use the checkpoint from step 40.',
    notes: [],
    changes: { keep_best: true, num_train_epochs: 4 },
    checkpoint: 40,
  });
  const gone = judge({ ...long, kept: [80, 120] });
  assert.equal([gone.checkpoint, gone.kind], [null, 'overfitted']);
  assert.match(gone.sentence, 'Train again and keep the best checkpoint.');
  // The best was kept already, so that the model is as good as it was.
  const best = judge({ ...long, loss: { base: 2, tuned: 0.3 }, bestStep: 40 });
  assert.is(best.kind, 'learned');
  assert.match(best.sentence, 'It has the weights of step 40, the best evaluation.');
  // A hundredth more is chance.
  const even = judge({ ...long, loss: { base: 2, tuned: 0.303 } });
  assert.is(even.kind, 'learned');
});

test('a score of a grader that fell again is overfitting, too', () => {
  const evaluations = [scored(0, 0.1), scored(40, 0.8), scored(80, 0.75), scored(120, 0.5)];
  const long = run({
    ...{ loss: null, metric: { name: 'grader:right', base: 0.1, tuned: 0.5 }, evaluations },
    ...{ lastStep: 120, epochs: 9, trainedEpochs: 9, kept: [40, 120] },
  });
  const { kind, sentence, changes, checkpoint } = judge(long);
  assert.equal([kind, changes, checkpoint], ['overfitted', { keep_best: true, num_train_epochs: 4 }, 40]);
  assert.is(
    sentence,
    'Overfitted: right (grader) was best at step 40 (0.8) and had fallen to 0.5 by step 120. Use the checkpoint from step 40.',
  );
  const metric = { name: 'grader:right', base: 0.1, tuned: 0.8 };
  const kept = judge({ ...long, metric, bestStep: 40 });
  assert.is(kept.kind, 'learned');
  assert.match(
    kept.sentence,
    / It has the weights of step 40, the best evaluation\. Later ones overfitted: right \(grader\) had fallen to 0\.5 by step 120\.$/,
  );
  // A little less is chance.
  const even = judge({ ...long, metric: { ...metric, tuned: 0.75 }, evaluations: evaluations.slice(0, 3) });
  assert.is(even.kind, 'learned');
  assert.not.match(
    judge({ ...long, metric, bestStep: 40, evaluations: evaluations.slice(0, 3) }).sentence,
    'Later',
  );
});

test('what ended the training is what is advised to be raised', () => {
  const poor = { loss: { base: 2, tuned: 1.99 }, evaluations: [at(0, 2), at(24, 1.99)], lastStep: 24 };
  const limited = judge(run({ ...poor, maxSteps: 24, epochs: 30, trainedEpochs: 1.5 }));
  assert.equal(limited.changes, { max_steps: 96 });
  assert.match(limited.sentence, 'Try 96 steps.');
  // Early stopping found that more epochs do not help.
  assert.is(judge(run({ ...poor, epochs: 30, trainedEpochs: 5 })).changes, null);
  const evaluations = [at(0, 2), at(30, 0.3), at(50, 0.5)];
  const worse = { loss: { base: 2, tuned: 0.5 }, evaluations, lastStep: 50, epochs: 30, trainedEpochs: 5 };
  assert.equal(judge(run(worse)).changes, { keep_best: true, num_train_epochs: 4 });
  assert.equal(judge(run({ ...worse, maxSteps: 50 })).changes, { keep_best: true });
});

test('what is wrong with the validation rows is told beside the figures', () => {
  const warning = '3 of the 7 validation rows are also in the training dataset, so the figures are better.';
  const { notes } = judge(run({ warnings: [warning], heldOutRows: 1 }));
  assert.equal(notes, [warning, 'Only 1 row was held out, so these figures are rough.']);
});

test('without figures nothing is claimed, and rewards are told as they are', () => {
  const none = judge(run({ loss: null, metric: null, evaluations: [], heldOutRows: 0 }));
  assert.equal([none.kind, none.changes, none.notes], ['unmeasured', null, []]);
  assert.match(none.sentence, 'not known');
  const better = judge(run({ loss: null, metric: { name: 'reward', base: 1, tuned: 3.217 } }));
  assert.is(better.sentence, 'Learned: reward rose from 1 to 3.22 on 40 held-out rows.');
  const same = judge(run({ loss: null, metric: { name: 'reward', base: 1, tuned: 1 }, lastStep: 900 }));
  assert.is(same.kind, 'barely');
  // An older run has no figures of its base.
  const older = judge(run({ loss: { base: null, tuned: 0.56 }, evaluations: [at(56, 0.56)] }));
  assert.is(older.sentence, 'Trained: the evaluation loss is 0.56 on 40 held-out rows.');
});

test.run();
