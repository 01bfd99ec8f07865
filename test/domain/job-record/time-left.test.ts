import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Phase } from '../../../src/contract/jobs.ts';
import type { JournalLine } from '../../../src/contract/journal.ts';
import { advance, type RunClock, startClock } from '../../../src/domain/job-record/timing/run-clock.ts';
import { secondsLeft } from '../../../src/domain/job-record/timing/time-left.ts';
import type { TimePlan } from '../../../src/domain/job-record/timing/time-plan.ts';

const plan: TimePlan = {
  seconds: { start: 1, check: 1, load: 8, probe: 2, answers: 4, save: 1, merge: 3, convert: 2, verify: 5 },
  ...{ stepSeconds: 2, evaluationSeconds: 6, steps: 20, evaluations: 2, answersAtEnd: false },
};

/** A clock, and what tells it of a line so many seconds after the one before. */
function running(changes: Partial<TimePlan> = {}) {
  let clock: RunClock = startClock({ ...plan, ...changes }, 0);
  const tell = (seconds: number, line: object): number | null => {
    const time = new Date((clock.at + seconds) * 1000).toISOString();
    clock = advance(clock, { seq: 0, time, ...line } as unknown as JournalLine);
    const left = secondsLeft(clock);
    return left === null ? null : Math.round(left);
  };
  const phase = (seconds: number, name: Phase, progress: number | null = null) =>
    tell(seconds, { type: 'phase', phase: name, progress, detail: null });
  return {
    left: () => secondsLeft(clock),
    phase,
    /** The parts before training, as planned or so many times as long. */
    prepare(times = 1) {
      phase(times, 'check');
      phase(times, 'load');
      phase(8 * times, 'probe');
      return phase(2 * times, 'train', 0);
    },
    step: (seconds: number, step: number, total = 20) =>
      tell(seconds, { type: 'metric', step, total_steps: total }),
    evaluated: (step: number) => tell(0, { type: 'eval', step }),
    answered: (seconds: number, step: number) => tell(seconds, { type: 'sample', step }),
    resumed: (step: number) => tell(0, { type: 'hello', resumed_from_step: step }),
  };
}

test('a run that goes as planned counts down from the whole to nothing', () => {
  const run = running();
  // 12 before the first step, 20 steps of 2, three evaluations of 6, and 11 to save and export.
  assert.is(run.left(), 81);
  assert.is(run.phase(1, 'check'), 80);
  assert.is(run.phase(1, 'load'), 79);
  assert.is(run.phase(8, 'probe'), 71);
  assert.is(run.phase(2, 'train', 0), 69);
  assert.is(run.phase(0, 'evaluate'), 69);
  assert.is(run.phase(3, 'evaluate', 0.5), 66);
  assert.is(run.phase(3, 'train', 0), 63);
  run.evaluated(0);
  for (let step = 1; step <= 10; step += 1) assert.is(run.step(2, step), 63 - 2 * step);
  run.phase(0, 'evaluate');
  assert.is(run.phase(6, 'train'), 37);
  run.evaluated(10);
  for (let step = 11; step <= 20; step += 1) run.step(2, step);
  run.phase(0, 'evaluate');
  assert.is(run.phase(6, 'train'), 11);
  assert.is(run.phase(1, 'merge'), 10);
  assert.is(run.phase(3, 'convert'), 7);
  assert.is(run.phase(2, 'verify'), 5);
  assert.is(run.phase(5, 'verify', 1), 0);
});

test('parts that take longer make those that follow longer, and steps are told by their own pace', () => {
  const slow = running();
  assert.ok((slow.prepare(2) as number) > 1.8 * 69, 'everything takes twice as long');
  const steps = running({ evaluations: 0 });
  steps.prepare();
  for (let step = 1; step <= 10; step += 1) steps.step(4, step);
  assert.ok(Math.abs((steps.left() as number) - (10 * 4 + 1.5 * 11)) < 8, `${steps.left()}`);
});

test('without an earlier run nothing is told before a step was timed', () => {
  const run = running({ stepSeconds: null, evaluationSeconds: null, evaluations: 0 });
  assert.is(run.left(), null);
  run.prepare();
  assert.is(run.step(5, 1), null, 'the first step takes longer than others');
  assert.is(run.step(2, 2), 18 * 2 + 11);
});

test('answers outside evaluations count at the start, at checkpoints and at the end', () => {
  const run = running({ evaluations: 0, answersAtEnd: true });
  assert.is(run.left(), 12 + 40 + 2 * 4 + 11);
  run.prepare();
  assert.is(run.answered(5, 0), 40 + 5 + 11);
});

test('a resumed run counts what is left of its steps and evaluations', () => {
  const run = running();
  run.resumed(10);
  run.prepare();
  assert.is(run.left(), 10 * 2 + 6 + 11);
});

test('what was not planned is told by its progress', () => {
  const run = running();
  run.phase(2, 'download', 0);
  const before = run.left() as number;
  assert.is(Math.round(run.phase(10, 'download', 0.25) as number), Math.round(before + 30));
});

test.run();
