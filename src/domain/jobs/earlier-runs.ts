import { type JobState, type Phase, phases, phasesOf } from '../../contract/jobs.ts';
import type { Quantization } from '../../contract/models/quantizations.ts';
import type { Settings } from '../../contract/settings.ts';
import { heldOutRows } from '../../contract/training/steps.ts';
import type { Store } from '../../db/store.ts';
import { type Job, jobName } from '../job-record/job.ts';
import type { PlannedPart } from '../job-record/timing/time-plan.ts';
import type { StepTime } from '../training/estimate/step-times.ts';
import type { TimedRun } from '../training/estimate/time-estimate.ts';

/** The newest runs of a model that are looked at. */
const lookedAt = 20;
/** The latest steps that tell how their time depends on their tokens. */
const timedSteps = 64;
const counted: readonly JobState[] = ['running', 'stopping', 'completed', 'stopped', 'interrupted', 'failed'];
const exporting: readonly unknown[] = phasesOf('Export', 'Verify');

/** What earlier runs of a model took on this machine, newest first. */
export const createEarlierRuns =
  (store: Store) =>
  (modelName: string): TimedRun[] => {
    const { jobs } = store.jobs.list({ states: counted, modelName, limit: lookedAt, offset: 0 });
    return (jobs as Job[]).flatMap((job) => timedRun(store, job) ?? []);
  };

/** The parts of a job's specification that tell how much work it was; others may be absent. */
interface StoredSpec {
  readonly settings?: Settings;
  readonly dataset?: { readonly name: string; readonly rows: number };
  readonly validation?: { readonly rows: number } | null;
  readonly export?: { readonly quantizations: readonly Quantization[] } | null;
}

function timedRun(store: Store, job: Job): TimedRun | null {
  const { settings, dataset, validation, export: made } = (job.spec ?? {}) as StoredSpec;
  const { lastMetric: last } = job;
  if (last === null || settings === undefined || dataset?.rows === undefined) return null;
  return {
    name: jobName(job.id),
    strategy: job.strategy,
    provider: job.provider,
    settings,
    dataset: dataset.name,
    rows: dataset.rows,
    heldOutRows: validation?.rows ?? heldOutRows(dataset.rows, settings.eval_split),
    steps: last.step,
    tokens: last.tokens,
    quantizations: made?.quantizations ?? [],
    stepTimes: () => stepTimes(store, job),
    ...times(store, job, last.elapsed_seconds),
  };
}

/** The latest steps of a job, by what they added to its totals. */
function stepTimes({ events }: Store, { id }: Job): StepTime[] {
  const points = events
    .bySeq(events.lastSteps(id, 'train', timedSteps + 1))
    .map(({ payload }) => payload as unknown as NonNullable<Job['lastMetric']>);
  return points.slice(1).flatMap((point, index) => {
    const before = points[index] as (typeof points)[number];
    const steps = point.step - before.step;
    const seconds = (point.elapsed_seconds - before.elapsed_seconds) / steps;
    // A resumed run may count what it repeats otherwise.
    return steps > 0 && seconds > 0 ? [{ seconds, tokens: (point.tokens - before.tokens) / steps }] : [];
  });
}

type Times = Pick<TimedRun, 'stepSeconds' | 'evaluationSeconds' | 'partSeconds'>;

/**
 * What took how long, by the times at which the phases of a job began.
 * @param elapsed the seconds from the beginning of training to its latest step.
 */
function times(store: Store, job: Job, elapsed: number): Times {
  const changes = store.events
    .ofJob(job.id, 'status')
    .map(({ time, payload }) => ({ at: Date.parse(time) / 1000, phase: payload.phase as Phase | null }));
  const evaluations = changes.flatMap(({ at, phase }, index) => {
    const next = changes[index + 1];
    // One that was interrupted tells nothing.
    return phase === 'evaluate' && next?.phase === 'train' ? [{ at, seconds: next.at - at }] : [];
  });
  const secondsOf = (some: typeof evaluations) => some.reduce((sum, { seconds }) => sum + seconds, 0);
  const evaluationSeconds = evaluations.length === 0 ? null : secondsOf(evaluations) / evaluations.length;

  // The rest is that of the latest attempt.
  const startedAt = job.startedAt === null ? Number.POSITIVE_INFINITY : Date.parse(job.startedAt) / 1000;
  const began = changes.filter(({ at }) => at >= startedAt);
  const ended = job.endedAt === null || job.state !== 'completed' ? null : Date.parse(job.endedAt) / 1000;
  const parts: Partial<Record<PlannedPart, number>> = {};
  const add = (part: PlannedPart, seconds: number) => {
    parts[part] = (parts[part] ?? 0) + Math.max(0, seconds);
  };
  const first = began.find(({ phase }) => phase !== null);
  if (first !== undefined) add('start', first.at - startedAt);
  for (const [index, { at, phase }] of began.entries()) {
    const end = began[index + 1]?.at ?? ended;
    if (phase !== null && phases[phase].stage !== 'Train' && end !== null) add(phase, end - at);
  }
  const trained = began.find(({ phase }) => phase === 'train')?.at;
  const isResumed = job.earlierSeconds > 0;
  const lastStep = trained === undefined || isResumed ? Number.POSITIVE_INFINITY : trained + elapsed;
  const during = evaluations.filter(({ at }) => at < lastStep);
  const afterwards = evaluations.filter(({ at }) => at >= lastStep);
  const answers = answerTimes(store, job);
  if (trained !== undefined && evaluations.length === 0 && answers.base !== null)
    add('answers', answers.base - trained);
  const saved = began.find(({ phase }) => exporting.includes(phase))?.at ?? ended;
  if (ended !== null && saved !== null && lastStep <= saved)
    add('save', saved - lastStep - secondsOf(afterwards) - answers.lastSeconds);
  return {
    stepSeconds: Math.max(0, elapsed - secondsOf(during) - (parts.answers ?? 0)),
    evaluationSeconds,
    partSeconds: parts,
  };
}

/** When the base model had answered, and how long the answers at the last checkpoint took. */
function answerTimes(store: Store, job: Job): { readonly base: number | null; readonly lastSeconds: number } {
  const log = store.events.ofJob(job.id, 'log').map(({ time, payload }) => ({
    at: Date.parse(time) / 1000,
    kind: payload.kind,
    step: payload.step,
    isOfFile: payload.file !== undefined,
  }));
  const answered = (step: unknown) =>
    log.find((one) => one.kind === 'sample' && one.step === step && !one.isOfFile)?.at ?? null;
  const saved = log.findLast(({ kind }) => kind === 'checkpoint');
  const last = saved === undefined ? null : answered(saved.step);
  return {
    base: answered(0),
    lastSeconds: saved === undefined || last === null ? 0 : Math.max(0, last - saved.at),
  };
}
