import { type JobState, unfinishedStates } from '../../contract/jobs.ts';
import { settings } from '../../contract/settings.ts';
import { directionOf, type SweepState, usualMetric, type VariedSetting } from '../../contract/sweeps.ts';
import type { Store } from '../../db/store.ts';
import type { NewSweep } from '../../db/tables/sweeps.ts';
import { AppError, asAppError, type FieldIssue } from '../../errors.ts';
import { createFaults, refusal } from '../../faults.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';
import { type ProposalQuestion, propose } from '../../trainer/propose.ts';
import type { Description } from '../../trainer/protocol.ts';
import type { Frame, FrameLog } from '../events/frame-log.ts';
import { jobName } from '../job-record/job.ts';
import type { Jobs } from '../jobs/jobs.ts';
import { defaultStrategy } from '../machine/trainer-registry.ts';
import { totalSteps } from '../training/estimate/steps.ts';
import type { JudgedRequest } from '../training/judge-request.ts';
import type { TrainingRequest } from '../training/training-request.ts';
import { evaluationsForCulling, shouldCull } from './halving.ts';
import { metricFault } from './metrics.ts';
import { bestOf, readSweep, requestWith, type Sweep, sweepName, type Trial } from './sweep.ts';
import { withFiles } from './sweep-file.ts';
import { corners, type SweepRequest, sharedRequest, spaceFaults, spaceOf } from './sweep-request.ts';

/** Searches for good settings: lists of jobs that vary the settings of one request, proposed one by one. */
export interface Sweeps {
  /** @throws AppError `invalid` or `not_found` with every error. */
  start(request: SweepRequest): Promise<Sweep>;
  /** Every error for which a start would reject a request, as far as the request can be read. */
  faults(fields: Partial<SweepRequest>, refused: ReadonlySet<string>): Promise<readonly FieldIssue[]>;
  /** Newest first. */
  list(): Sweep[];
  /** @throws AppError `not_found`. */
  get(id: number): Sweep;
  /** Proposes no more trials, and stops those that run, with checkpoints. @throws AppError `conflict` if it has ended. */
  stop(id: number): Promise<Sweep>;
  /**
   * Deletes a sweep with the jobs of its trials; their models are kept.
   * @throws AppError `conflict` while it, or one of these jobs, runs.
   */
  remove(id: number): Promise<void>;
  /** Takes note of a frame that was published. */
  take(frame: Frame): void;
  /** Goes on with the sweeps that were running, and follows frames from now on. */
  recover(): void;
  /** Proposes no more trials; those that run go on. */
  close(): Promise<void>;
}

export interface SweepsOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly jobs: Jobs;
  readonly describe: () => Promise<Description>;
  readonly judge: (request: TrainingRequest) => Promise<JudgedRequest>;
  readonly command: TrainerCommand;
  /** The folder of the jobs' folders, which also has a file of each sweep. */
  readonly jobsDir: string;
  /** The most trials at once. */
  readonly parallel: number;
  readonly logger: { warn(fields: object, text: string): void };
}

/** How often a trial is resumed that was interrupted, as by a loss of power. */
const mostResumes = 2;
/** If so many trials have failed and none has done anything else, the rest would, too. */
const hopelessFailures = 3;

const endedStates: readonly string[] = ['completed', 'failed', 'stopped', 'interrupted', 'deleted'];

export function createSweeps(options: SweepsOptions): Sweeps {
  const { frames, jobs, logger } = options;
  const sweepTable = withFiles(options.store.sweeps, options.jobsDir, (id, { message }) =>
    logger.warn({ sweep: sweepName(id), error: message }, 'The file of a sweep could not be written'),
  );
  const store: Store = { ...options.store, sweeps: sweepTable };
  const closing = new AbortController();
  let isFollowing = false;
  /** The work on each sweep, one thing after another. */
  const work = new Map<number, Promise<void>>();

  function get(id: number): Sweep {
    const row = store.sweeps.get(id);
    if (row === null) throw new AppError('not_found', `There is no sweep ${sweepName(id)}.`);
    return readSweep(row, store);
  }

  const isRunning = (id: number) => store.sweeps.get(id)?.state === ('running' satisfies SweepState);

  function publish(id: number, change: () => void = () => {}): void {
    frames.commit((emit) => {
      change();
      const sweep = get(id);
      emit('sweep', null, {
        sweep_id: sweep.name,
        state: sweep.state,
        trials: sweep.trials,
        ended: sweep.trialsDone.filter(({ job }) => job === null || !isUnfinished(job.state)).length,
        best_value: bestOf(sweep)?.value ?? null,
      });
    });
  }

  function end(id: number, state: Exclude<SweepState, 'running'>, error: string | null = null): void {
    publish(id, () => store.sweeps.setState(id, state, new Date().toISOString(), error));
  }

  /** Queues work on a sweep. */
  function enqueue(id: number, step: () => Promise<void> | void): void {
    const before = work.get(id) ?? Promise.resolve();
    const next = before.then(async () => {
      if (closing.signal.aborted || !isRunning(id)) return;
      try {
        await step();
      } catch (error) {
        if (closing.signal.aborted || !isRunning(id)) return;
        const { message } = asAppError(error);
        logger.warn({ sweep: sweepName(id), error: message }, 'A sweep failed');
        end(id, 'failed', message);
        await stopTrials(id);
      }
    });
    work.set(id, next);
    void next.finally(() => {
      if (work.get(id) === next) work.delete(id);
    });
  }

  /** Starts the next trials as far as there is room for them, or ends the sweep. */
  async function advance(id: number): Promise<void> {
    while (!closing.signal.aborted && isRunning(id)) {
      for (const trial of get(id).trialsDone) await mend(trial);
      const { trialsDone: done, trials } = get(id);
      const open = done.filter(({ job }) => job !== null && isUnfinished(job.state));
      refuseHopeless(done);
      if (done.length >= trials && open.length === 0) end(id, 'completed');
      if (done.length >= trials || open.length >= options.parallel) return;
      if (!(await startTrial(id))) return;
    }
  }

  /** Goes on with a trial that was interrupted, and forgets one that a killed service did not prepare. */
  async function mend({ row, job }: Trial): Promise<void> {
    if (job?.state === 'failed' && job.spec === null) {
      await jobs.remove(job.id);
      store.sweeps.removeTrial(job.id);
    } else if (job?.state === 'interrupted' && row.resumed < mostResumes) {
      store.sweeps.setResumed(job.id, row.resumed + 1);
      await unlessConflict(jobs.resume(job.id, { queue: true }));
    }
  }

  /** @returns false if the queue is full; the end of any job is the time to try again. */
  async function startTrial(id: number): Promise<boolean> {
    const sweep = get(id);
    const parameters = await propose(options.command, questionOf(sweep), closing.signal);
    const request = await withEvaluations(sweep, requestWith(sweep, parameters));
    const number = (sweep.trialsDone.at(-1)?.number ?? 0) + 1;
    let jobId: number | null = null;
    const started = jobs.start({ ...request, export: 'none', queue: true }, (job) => {
      if (!isRunning(id)) throw new AppError('conflict', `${sweep.name} has ended.`);
      jobId = job.id;
      store.sweeps.putTrial({ sweepId: id, number, jobId, parameters });
    });
    try {
      if ((await unlessConflict(started)) === null) return false;
    } catch (error) {
      if (jobId !== null && store.jobs.get(jobId) === null) store.sweeps.removeTrial(jobId);
      throw error;
    }
    publish(id);
    return true;
  }

  /** With culling, a request that names no interval is evaluated often enough to be compared early. */
  async function withEvaluations(sweep: Sweep, request: TrainingRequest): Promise<TrainingRequest> {
    if (!sweep.culling || request.eval_steps != null) return request;
    const { settings: used, strategy, data } = await options.judge(request);
    const steps = totalSteps(used, strategy, data.numExamples);
    return { ...request, eval_steps: Math.max(1, Math.floor(steps / evaluationsForCulling)) };
  }

  function refuseHopeless(done: readonly Trial[]): void {
    const failed = done.filter(({ state }) => state === 'failed' || state === 'interrupted');
    if (failed.length < hopelessFailures || failed.length < done.length) return;
    const { job } = failed[0] as Trial;
    throw new AppError(
      'invalid',
      `The first ${failed.length} trials failed, the first of them with: ${job?.errorMessage ?? 'no message'}`,
    );
  }

  /** Compares a trial that was evaluated with the others, and stops it if they are better. */
  function consider(id: number, jobId: number): void {
    const sweep = get(id);
    const own = sweep.trialsDone.find(({ row }) => row.jobId === jobId);
    if (own?.job == null) return;
    const { metrics } = (jobs.series(jobId, 1).eval.at(-1) ?? { metrics: {} }) as { metrics?: object };
    const names = Object.keys(metrics ?? {});
    if (!names.includes(sweep.metric)) {
      throw new AppError(
        'invalid',
        `Trial ${own.number} reports no metric ${sweep.metric}. It has ${names.join(', ')}; name one of them as metric.`,
      );
    }
    const others = sweep.trialsDone.filter((trial) => trial !== own && trial.evaluations.length > 0);
    const isWorse = shouldCull(
      own.evaluations,
      others.map(({ evaluations }) => evaluations),
      sweep.direction,
    );
    if (sweep.culling && !own.row.culled && own.job.state === 'running' && isWorse) cull(jobId);
  }

  function cull(jobId: number): void {
    // Stored first, so that it survives a crash of this service.
    store.sweeps.setCulled(jobId);
    stopQuietly(jobId);
  }

  /** Stops a job that may have ended in the meantime. */
  async function stopQuietly(jobId: number): Promise<void> {
    await unlessConflict(jobs.stop(jobId)).catch((error) => {
      logger.warn({ job: jobName(jobId), error: asAppError(error).message }, 'A trial could not be stopped');
    });
  }

  async function stopTrials(id: number): Promise<void> {
    const open = get(id).trialsDone.filter(({ job }) => job !== null && isUnfinished(job.state));
    await Promise.all(open.map(({ row }) => stopQuietly(row.jobId)));
  }

  async function faults(fields: Partial<SweepRequest>, refused: ReadonlySet<string>) {
    const found = createFaults();
    const wrong = fields.space === undefined ? [] : spaceFaults(fields.space, fields.trials);
    for (const msg of wrong) found.add('space', msg);
    if (!refused.has('metric')) {
      const { metric = usualMetric, task, strategy } = fields;
      const fault = metricFault(await options.describe(), metric, task, strategy ?? defaultStrategy);
      if (fault !== null) found.add('metric', fault);
    }
    const isRead = !refused.has('eval_split') && !refused.has('validation_dataset');
    if (isRead && !fields.eval_split && fields.validation_dataset == null) {
      found.add(
        'eval_split',
        'A sweep compares its trials on rows that they are not trained on: set eval_split, for example to 0.1, or validation_dataset',
      );
    }
    const ofTrainings = await Promise.all(
      corners(fields).map((request) => jobs.faults({ fields: request, refused })),
    );
    const issues = [...found.issues(), ...ofTrainings.flat()];
    return issues.filter(({ msg }, index) => issues.findIndex((other) => other.msg === msg) === index);
  }

  return {
    faults,
    async start(request) {
      const issues = await faults(request, new Set());
      if (issues.length > 0) throw refusal(issues);
      const id = store.sweeps.insert(newSweep(request));
      publish(id);
      enqueue(id, () => advance(id));
      return get(id);
    },
    list: () => store.sweeps.list().map((row) => readSweep(row, store)),
    get,
    async stop(id) {
      const { name, state } = get(id);
      if (state !== 'running')
        throw new AppError('conflict', `${name} is ${state}, so there is nothing to stop.`);
      end(id, 'stopped');
      await stopTrials(id);
      return get(id);
    },
    async remove(id) {
      const { name, state, trialsDone } = get(id);
      if (state === 'running')
        throw new AppError('conflict', `${name} is running. Stop it before deleting it.`);
      await work.get(id);
      const busy = trialsDone.find(({ job }) => job !== null && isUnfinished(job.state));
      if (busy !== undefined) {
        throw new AppError(
          'conflict',
          `${jobName(busy.row.jobId)} of ${name} is ${busy.state}. Stop it before deleting the sweep.`,
        );
      }
      for (const { job } of trialsDone) if (job !== null) await jobs.remove(job.id);
      frames.commit((emit) => {
        store.sweeps.remove(id);
        emit('sweep', null, { sweep_id: name, state: 'deleted' });
      });
    },
    take(frame) {
      if (!isFollowing) return;
      const jobId = Number(/^train_(\d+)$/.exec(String(frame.job_id))?.[1]);
      if (frame.type === 'metrics' && frame.kind === 'eval') {
        const trial = store.sweeps.trialOf(jobId);
        if (trial !== null) enqueue(trial.sweepId, () => consider(trial.sweepId, jobId));
      } else if (frame.type === 'status' && endedStates.includes(String(frame.state))) {
        for (const { id, state } of store.sweeps.list())
          if (state === 'running') enqueue(id, () => advanceAfter(id, jobId));
      }
    },
    recover() {
      isFollowing = true;
      for (const { id, state } of store.sweeps.list())
        if (state === 'running') enqueue(id, () => advance(id));
    },
    async close() {
      closing.abort();
      await Promise.all(work.values());
    },
  };

  async function advanceAfter(id: number, jobId: number): Promise<void> {
    if (store.sweeps.trialOf(jobId)?.sweepId === id) publish(id);
    await advance(id);
  }
}

/** @returns null if it is refused for the state of the job or the queue. */
async function unlessConflict<T>(made: Promise<T>): Promise<T | null> {
  try {
    return await made;
  } catch (error) {
    if (error instanceof AppError && error.kind === 'conflict') return null;
    throw error;
  }
}

const isUnfinished = (state: JobState) => unfinishedStates.includes(state);

function newSweep(request: SweepRequest): NewSweep {
  const { trials, metric, culling } = request;
  return {
    state: 'running' satisfies SweepState,
    request: sharedRequest(request),
    space: spaceOf(request.space),
    trials,
    metric,
    culling,
    direction: request.direction ?? directionOf(metric),
    seed: request.seed ?? settings.seed.recommended,
    createdAt: new Date().toISOString(),
  };
}

/** What the sampler is shown. */
function questionOf({ seed, direction, space, trialsDone }: Sweep): ProposalQuestion {
  const whole = (name: string) => settings[name as VariedSetting].kind === 'integer';
  return {
    seed,
    direction,
    space: Object.fromEntries(
      Object.entries(space).map(([name, dimension]) => [
        name,
        'choices' in dimension ? dimension : { ...dimension, whole: whole(name) },
      ]),
    ),
    trials: trialsDone.map(({ parameters, state, evaluations, value, step }) => {
      const points = evaluations.flatMap((at) => (at.value === null ? [] : [[at.step, at.value] as const]));
      // The result counts, also where it is that of an earlier evaluation.
      if (value !== null) points.push([Math.max(step, ...points.map(([at]) => at)) + 1, value]);
      return { parameters, points, state: shownAs(state, points.length > 0) };
    }),
  };
}

function shownAs(state: Trial['state'], hasPoints: boolean): ProposalQuestion['trials'][number]['state'] {
  if (state !== 'deleted' && state !== 'culled' && isUnfinished(state)) return 'running';
  if (!hasPoints) return 'failed';
  return state === 'completed'
    ? 'completed'
    : state === 'culled' || state === 'stopped'
      ? 'culled'
      : 'failed';
}
