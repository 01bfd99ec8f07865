import { type Phase, phases } from '../../../contract/jobs.ts';
import type { JournalLine } from '../../../contract/journal.ts';
import type { PlannedPart, TimePlan } from './time-plan.ts';

/** What the lines of an attempt's journal tell of its time; kept with the job. Times are seconds since 1970. */
export interface RunClock {
  readonly plan: TimePlan;
  /** The time of the latest line, or of the start. */
  readonly at: number;
  readonly part: PlannedPart;
  /** How far the part is, from 0 to 1, and since when and from where it counts. */
  readonly progress: Progress | null;
  /** The seconds that were spent in each part. */
  readonly spent: Readonly<Partial<Record<PlannedPart, number>>>;
  /** The latest step of this attempt or the one it resumes, and how many there are; `total` is `null` before the first. */
  readonly step: number;
  readonly total: number | null;
  /** Whether it began at the first step, with an evaluation of the base model if it evaluates. */
  readonly isWhole: boolean;
  /** Steps that were timed, and the mean seconds of the latest of them; until then those of the first, which takes longer. */
  readonly timed: number;
  readonly stepSeconds: number;
  /** Seconds between steps beyond their own, without evaluations: checkpoints and answers. */
  readonly between: number;
  /** The time of the latest step, if nothing but the next followed, and the evaluation's seconds since. */
  readonly stepAt: number | null;
  readonly sinceStep: { readonly isPlain: boolean; readonly evaluated: number; readonly answered: number };
  /** How often the prompts were answered outside evaluations, the seconds of the latest time, and its step. */
  readonly answers: number;
  readonly answersSeconds: number;
  readonly answeredStep: number | null;
  /** Evaluations: how many, their seconds, those of the base model's, and the step of the latest. */
  readonly evaluations: number;
  readonly evaluationSeconds: number;
  readonly baseSeconds: number | null;
  readonly evaluatedStep: number;
  /** When the last step, its evaluation and its answers were over. */
  readonly trainedAt: number | null;
}

interface Progress {
  readonly share: number;
  readonly from: number;
  readonly since: number;
}

/** Of the steps that were timed, the mean weighs the latest: this share of them, at least so many. */
const latestShare = 0.25;
const latestSteps = 12;

/** The clock of an attempt that starts now. */
export const startClock = (plan: TimePlan, at: number): RunClock => ({
  plan,
  at,
  part: 'start',
  progress: null,
  spent: {},
  step: 0,
  total: null,
  isWhole: true,
  timed: 0,
  stepSeconds: 0,
  between: 0,
  stepAt: null,
  sinceStep: { isPlain: false, evaluated: 0, answered: 0 },
  answers: 0,
  answersSeconds: 0,
  answeredStep: null,
  evaluations: 0,
  evaluationSeconds: 0,
  baseSeconds: null,
  evaluatedStep: 0,
  trainedAt: null,
});

/** The clock after a line of the journal. */
export function advance(clock: RunClock, line: JournalLine): RunClock {
  const next = afterLine(clock, line);
  const isOver =
    clock.part === 'evaluate' || line.type === 'metric' || line.type === 'eval' || line.type === 'sample';
  return isOver && next.part === 'train' && next.step === next.total ? { ...next, trainedAt: next.at } : next;
}

function afterLine(clock: RunClock, line: JournalLine): RunClock {
  const at = Math.max(clock.at, Date.parse(line.time) / 1000);
  const seconds = at - clock.at;
  const before: RunClock = {
    ...clock,
    at,
    spent: { ...clock.spent, [clock.part]: (clock.spent[clock.part] ?? 0) + seconds },
    sinceStep: {
      ...clock.sinceStep,
      evaluated: clock.sinceStep.evaluated + (clock.part === 'evaluate' ? seconds : 0),
    },
  };
  switch (line.type) {
    case 'hello':
      return line.resumed_from_step === null
        ? before
        : { ...before, step: line.resumed_from_step, evaluatedStep: line.resumed_from_step, isWhole: false };
    case 'phase':
      return withPhase(before, line.phase, line.progress);
    case 'metric':
      return withStep(before, line.step, line.total_steps, seconds);
    case 'eval':
      return { ...withPlain(before, false), evaluatedStep: line.step };
    case 'checkpoint':
      return withPlain(before, false);
    case 'sample':
      return withAnswer(withPlain(before, false), line.step, at - (clock.progress?.since ?? clock.at));
    default:
      return before;
  }
}

const withPlain = (clock: RunClock, isPlain: boolean): RunClock => ({
  ...clock,
  sinceStep: { ...clock.sinceStep, isPlain },
});

/** The first answer of a step comes when all are there; their phase began at the first. */
function withAnswer(clock: RunClock, step: number, seconds: number): RunClock {
  if (clock.part !== 'train' || clock.answeredStep === step) return clock;
  return {
    ...clock,
    answers: clock.answers + 1,
    answersSeconds: seconds,
    answeredStep: step,
    sinceStep: { ...clock.sinceStep, answered: clock.sinceStep.answered + seconds },
  };
}

function withPhase(clock: RunClock, phase: Phase, share: number | null): RunClock {
  const { at, part, progress } = clock;
  const goesOn = part === phase && progress !== null && share !== null && share >= progress.share;
  const next: RunClock = {
    ...clock,
    part: phase,
    progress:
      share === null
        ? null
        : { share, from: goesOn ? progress.from : share, since: goesOn ? progress.since : at },
  };
  if (part === phase) return next;
  if (part !== 'evaluate') return withPlain(next, false);
  const seconds = clock.sinceStep.evaluated;
  if (clock.step === 0 && clock.isWhole) return { ...next, baseSeconds: seconds, evaluatedStep: 0 };
  return {
    ...withPlain(next, false),
    evaluatedStep: clock.step,
    evaluations: clock.evaluations + 1,
    evaluationSeconds: clock.evaluationSeconds + seconds,
  };
}

function withStep(clock: RunClock, step: number, total: number, sinceLine: number): RunClock {
  const { at, stepAt, sinceStep, step: before } = clock;
  const next: RunClock = {
    ...clock,
    part: 'train',
    progress: null,
    step,
    total,
    stepAt: at,
    sinceStep: { isPlain: true, evaluated: 0, answered: 0 },
  };
  if (stepAt === null) return { ...next, stepSeconds: sinceLine };
  if (step <= before) return next;
  const seconds = (at - stepAt - sinceStep.evaluated - sinceStep.answered) / (step - before);
  if (!sinceStep.isPlain && clock.timed > 0) {
    return { ...next, between: clock.between + Math.max(0, seconds - clock.stepSeconds) };
  }
  if (!sinceStep.isPlain) return next;
  const timed = clock.timed + 1;
  const weight = 1 / Math.min(timed, Math.max(latestSteps, latestShare * timed));
  return { ...next, timed, stepSeconds: clock.stepSeconds + weight * (seconds - clock.stepSeconds) };
}

/** The parts before and after training, in order. */
export const partsOf = (when: 'before' | 'after'): readonly PlannedPart[] => {
  const named = Object.entries(phases) as [Phase, (typeof phases)[Phase]][];
  const those = named.filter(([, { stage }]) => (stage === 'Prepare') === (when === 'before'));
  const names = those.filter(([, { stage }]) => stage !== 'Train').map(([name]) => name);
  return when === 'before' ? ['start', ...names] : ['save', ...names];
};
