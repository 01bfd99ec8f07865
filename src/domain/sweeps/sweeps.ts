import { settings } from '../../contract/settings.ts';
import { directionOf, type SweepState } from '../../contract/sweeps.ts';
import { totalSteps } from '../../contract/training/steps.ts';
import type { Store } from '../../db/store.ts';
import type { NewSweep } from '../../db/tables/sweeps.ts';
import { AppError, asAppError, type FieldIssue } from '../../errors.ts';
import { refusal } from '../../faults.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';
import { propose } from '../../trainer/propose.ts';
import type { Description } from '../../trainer/protocol.ts';
import type { Frame, FrameLog } from '../events/frame-log.ts';
import { jobName } from '../job-record/job.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { JudgedRequest } from '../training/judge-request.ts';
import type { TrainingRequest } from '../training/training-request.ts';
import { evaluationsForCulling } from './halving.ts';
import { isUnfinished, loses, nextStep, openTrials } from './next-step.ts';
import { questionOf } from './proposal-question.ts';
import { bestOf, readSweep, requestWith, type Sweep, sweepName } from './sweep.ts';
import { sweepFaults } from './sweep-faults.ts';
import { withFiles } from './sweep-file.ts';
import { type SweepRequest, sharedRequest, spaceOf } from './sweep-request.ts';
import { createTrials } from './trials.ts';

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

const endedStates: readonly string[] = ['completed', 'failed', 'stopped', 'interrupted', 'deleted'];

export function createSweeps(options: SweepsOptions): Sweeps {
  const { frames, jobs, logger } = options;
  const sweepTable = withFiles(options.store.sweeps, options.jobsDir, (id, { message }) =>
    logger.warn({ sweep: sweepName(id), error: message }, 'The file of a sweep could not be written'),
  );
  const store: Store = { ...options.store, sweeps: sweepTable };
  const trials = createTrials({ store, jobs, logger });
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
        await trials.stop(get(id));
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
      for (const trial of get(id).trialsDone) await trials.mend(trial);
      const step = nextStep(get(id), options.parallel);
      if (step.kind === 'fail') throw new AppError('invalid', step.error);
      if (step.kind === 'complete') end(id, 'completed');
      // The end of any job is the time to try again.
      if (step.kind !== 'start' || !(await startTrial(id))) return;
    }
  }

  /** @returns false if the queue is full. */
  async function startTrial(id: number): Promise<boolean> {
    const sweep = get(id);
    const parameters = await propose(options.command, questionOf(sweep), closing.signal);
    const request = await withEvaluations(sweep, requestWith(sweep, parameters));
    const hasStarted = await trials.start(sweep, parameters, request, () => isRunning(id));
    if (hasStarted) publish(id);
    return hasStarted;
  }

  /** With culling, a request that names no interval is evaluated often enough to be compared early. */
  async function withEvaluations(sweep: Sweep, request: TrainingRequest): Promise<TrainingRequest> {
    if (!sweep.culling || request.eval_steps != null) return request;
    const { settings: used, strategy, data } = await options.judge(request);
    const steps = totalSteps(used, strategy, data.numExamples);
    return { ...request, eval_steps: Math.max(1, Math.floor(steps / evaluationsForCulling)) };
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
    if (loses(sweep, own)) trials.cull(jobId);
  }

  const faults: Sweeps['faults'] = (fields, refused) => sweepFaults(fields, refused, options);

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
      await trials.stop(get(id));
      return get(id);
    },
    async remove(id) {
      const { name, state, trialsDone } = get(id);
      if (state === 'running')
        throw new AppError('conflict', `${name} is running. Stop it before deleting it.`);
      await work.get(id);
      const [busy] = openTrials({ trialsDone });
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
