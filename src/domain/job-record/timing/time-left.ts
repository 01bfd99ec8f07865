import { partsOf, type RunClock } from './run-clock.ts';
import type { PlannedPart } from './time-plan.ts';

const before = partsOf('before');
const after = partsOf('after');

/** Estimates weigh as much as so many seconds, and as so many steps, that were measured. */
const trustedSeconds = 3;
const trustedStepSeconds = 4;
const trustedSteps = 3;
/** A part of which so much is done tells by that how long it takes. */
const tellingShare = 0.05;

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

/**
 * How long a run still takes after the latest line of its journal, in seconds: what it was estimated to take, corrected by
 * what its parts took so far; `null` before that is known.
 */
export function secondsLeft(clock: RunClock): number | null {
  const { part } = clock;
  const preparing = before.indexOf(part);
  const exporting = after.indexOf(part);
  const pace = paceOf(clock);
  const rest = (parts: readonly PlannedPart[]) =>
    parts.reduce((sum, one) => sum + partLeft(clock, one, pace), 0);
  if (exporting >= 0) return rest(after.slice(exporting));
  const training = trainingLeft(clock, pace);
  if (training === null) return null;
  return (preparing >= 0 ? rest(before.slice(preparing)) : 0) + training + rest(after);
}

/**
 * How much longer than planned it takes: the ended parts before and after training, and the latest steps. How long the start takes
 * depends on whether a trainer was warm, and parts before training are faster then, which tells nothing of the others.
 */
function paceOf({ plan, spent, part, timed, stepSeconds }: RunClock): number {
  let [planned, taken] = [trustedSeconds, trustedSeconds];
  if (plan.stepSeconds !== null) {
    const weight = Math.min(trustedStepSeconds, timed * plan.stepSeconds);
    planned += weight;
    taken += (weight * stepSeconds) / plan.stepSeconds;
  }
  for (const one of [...before.filter((each) => each !== 'start'), ...after]) {
    const seconds = plan.seconds[one];
    if (seconds === undefined || spent[one] === undefined || (one === part && spent[one] < seconds)) continue;
    planned += seconds;
    taken += before.includes(one) ? Math.max(seconds, spent[one]) : spent[one];
  }
  return clamp(taken / planned, 0.3, 5);
}

/** What is left of a part before or after training. */
function partLeft(clock: RunClock, one: PlannedPart, pace: number): number {
  const { plan, part, spent, progress, at, trainedAt } = clock;
  const planned = (plan.seconds[one] ?? 0) * pace;
  const isSaving = one === 'save' && part === 'train' && trainedAt !== null;
  const taken = isSaving ? at - trainedAt : (spent[one] ?? 0);
  const left = Math.max(0, planned - taken);
  if (one !== part) return left;
  const told = toldLeft({ progress, at });
  if (told === null) return left;
  if (plan.seconds[one] === undefined) return told;
  // Several passes of a phase each count from 0: what is planned tells more, until it is over.
  return left > 0 ? left : Math.min(told, planned);
}

/** What is left of what is going on, by its progress; `null` before that tells. */
function toldLeft({ progress, at }: Pick<RunClock, 'progress' | 'at'>): number | null {
  if (progress === null || progress.share - progress.from < tellingShare) return null;
  return ((at - progress.since) / (progress.share - progress.from)) * (1 - progress.share);
}

/** What is left of steps and evaluations; `null` if nothing tells how long a step takes. */
function trainingLeft(clock: RunClock, pace: number): number | null {
  const { plan, step, timed, total } = clock;
  const steps = Math.max(0, (total ?? plan.steps) - step);
  const expected = plan.stepSeconds;
  const weight = timed / (timed + trustedSteps);
  if (expected === null && clock.stepSeconds === 0 && steps > 0) return null;
  const ofStep =
    expected === null ? clock.stepSeconds : weight * clock.stepSeconds + (1 - weight) * expected * pace;
  const between = timed > 0 ? clock.between / (timed + 1) : 0;
  return steps * (ofStep + between) + evaluationsLeft(clock, ofStep, pace) + answersLeft(clock, steps, pace);
}

/** What is left of the answers outside evaluations: the base model's, those of checkpoints, and those of the end. */
function answersLeft(clock: RunClock, steps: number, pace: number): number {
  const { plan, answers, answeredStep, isWhole, step, baseSeconds, part, progress, at } = clock;
  // The base model's evaluation has the same answers.
  const most = baseSeconds ?? Number.POSITIVE_INFINITY;
  // In training, these alone have progress.
  const told = part === 'train' && answeredStep !== step ? toldLeft(clock) : null;
  const seconds = told === null || progress === null ? null : at - progress.since + told;
  const one =
    answers > 0 ? clock.answersSeconds : (seconds ?? Math.min(most, (plan.seconds.answers ?? 0) * pace));
  const base = plan.evaluations === 0 && isWhole ? 1 : 0;
  const isOver = steps === 0 && (answeredStep === step || told !== null);
  const end = !plan.answersAtEnd || isOver ? 0 : 1;
  const between = step > 0 ? (Math.max(0, answers - base) / step) * steps : 0;
  const first = answers === 0 && step === 0 && told === null ? base : 0;
  return (told ?? 0) + one * (first + between + end);
}

/** What is left of the evaluations, the current one included. */
function evaluationsLeft(clock: RunClock, ofStep: number, pace: number): number {
  const { plan, evaluations, evaluationSeconds, baseSeconds, evaluatedStep, part, sinceStep } = clock;
  if (plan.evaluations === 0) return 0;
  const total = clock.total ?? plan.steps;
  const every = Math.max(1, total / plan.evaluations);
  const during = Math.max(0, plan.evaluations - Math.round(evaluatedStep / every));
  const base = clock.isWhole && clock.step === 0 && clock.baseSeconds === null ? 1 : 0;
  const known = [
    ...(evaluations > 0 ? [evaluationSeconds / evaluations] : []),
    ...(evaluations === 0 && baseSeconds !== null ? [baseSeconds] : []),
    ...(evaluations === 0 && plan.evaluationSeconds !== null ? [plan.evaluationSeconds * pace] : []),
  ];
  const one = known.length === 0 ? ofStep : known.reduce((sum, seconds) => sum + seconds, 0) / known.length;
  if (part !== 'evaluate') return (during + base) * one;
  const left = Math.max(one - sinceStep.evaluated, toldLeft(clock) ?? 0);
  return Math.max(0, during + base - 1) * one + left;
}
