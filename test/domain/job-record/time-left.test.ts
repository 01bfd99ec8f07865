import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Phase } from '../../../src/contract/jobs.ts';
import type { JournalLine } from '../../../src/contract/journal.ts';
import { advance, type RunClock, startClock } from '../../../src/domain/job-record/timing/run-clock.ts';
import { secondsLeft } from '../../../src/domain/job-record/timing/time-left.ts';
import type { TimePlan } from '../../../src/domain/job-record/timing/time-plan.ts';
import { root } from '../../folders.ts';
import { lengthen, type RecordedRun } from '../../recorded/recorded-run.ts';

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
  assert.ok((slow.prepare(2) as number) > 1.7 * 69, 'everything takes twice as long');
  assert.is(running().prepare(0.1), 69, 'a warm trainer makes nothing else faster');
  const steps = running({ evaluations: 0 });
  steps.prepare();
  for (let step = 1; step <= 10; step += 1) steps.step(4, step);
  assert.ok(Math.abs((steps.left() as number) - (10 * 4 + 1.5 * 11)) < 8, `${steps.left()}`);
});

test('without an earlier run nothing is told before the first step', () => {
  const run = running({ stepSeconds: null, evaluationSeconds: null, evaluations: 0 });
  assert.is(run.left(), null);
  run.prepare();
  assert.is(run.left(), null);
  assert.is(run.step(5, 1), 19 * 5 + 11);
  assert.is(run.step(2, 2), 18 * 2 + 11);
});

test('answers outside evaluations count at the start, at checkpoints and at the end', () => {
  const run = running({ evaluations: 0, answersAtEnd: true });
  assert.is(run.left(), 12 + 40 + 2 * 4 + 11);
  run.prepare();
  run.phase(0, 'train', 0);
  assert.is(run.phase(2, 'train', 0.25), 40 + 6 + 8 + 11, 'as long as the first quarter of them says');
  assert.is(run.phase(3, 'train', 1), 40 + 5 + 11);
  assert.is(run.answered(0, 0), 40 + 5 + 11);
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

const recorded: RecordedRun[] = gunzipSync(readFileSync(join(root, 'test', 'recorded', 'runs.jsonl.gz')))
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

/** From a tenth of a run's time on, how often what is said is compared with the truth. */
const moments = Array.from({ length: 45 }, (_, index) => 0.1 + 0.02 * index);
/** The error is a share of what is left, of so many seconds at least. */
const leastSeconds = 5;

/** The errors of what is said at the moments of a run, as a page that counts down shows it; `null` while nothing is said. */
function errors(run: RecordedRun): (number | null)[] {
  const lines = lengthen(run);
  const end = Date.parse(lines.at(-1)?.time as string) / 1000;
  let clock = startClock(run.plan, 0);
  return moments.map((share) => {
    const at = share * end;
    while (Date.parse(lines[0]?.time as string) <= at * 1000)
      clock = advance(clock, lines.shift() as JournalLine);
    const left = secondsLeft(clock);
    const said = left === null ? null : Math.max(0, left - (at - clock.at));
    return said === null ? null : Math.abs(said - (end - at)) / Math.max(leastSeconds, end - at);
  });
}

test('from a tenth of recorded runs on, their time left is within a quarter of the truth', () => {
  const figures = (runs: readonly RecordedRun[]) => {
    const said = runs.flatMap(errors).filter((error) => error !== null);
    const within = said.filter((error) => error <= 0.25).length / said.length;
    const median = said.sort((one, other) => one - other)[Math.floor(said.length / 2)] as number;
    return { runs: runs.length, told: said.length / (runs.length * moments.length), within, median };
  };
  const isFirst = ({ plan: { stepSeconds } }: RecordedRun) => stepSeconds === null;
  const [loaded, alone] = [true, false].map((waits) => recorded.filter((run) => run.waits === waits)) as [
    RecordedRun[],
    RecordedRun[],
  ];
  const later = figures(alone.filter((run) => !isFirst(run)));
  const first = figures(alone.filter(isFirst));
  const every = figures(loaded);
  const shown = JSON.stringify({ later, first, every });
  assert.ok(later.told === 1 && later.within > 0.8 && later.median < 0.12, shown);
  // Of a base model's first training nothing is said before its first step, and how long its export takes is not known.
  assert.ok(first.told > 0.7 && first.within > 0.65 && first.median < 0.18, shown);
  // On a machine with several times as much to do as it has processors, whose load changes during the run.
  assert.ok(every.runs >= 50 && every.within > 0.58 && every.median < 0.21, shown);
});

test.run();
