import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobChange, JobFilter } from '../db/jobs.ts';
import type { Store } from '../db/store.ts';
import { AppError, asAppError } from '../errors.ts';
import type { JobSpec } from '../trainer/protocol.ts';
import {
  endsWithin,
  findTrainer,
  followTrainer,
  killTrainer,
  readTail,
  startTrainer,
  stopTrainer,
  type Trainer,
  type TrainerCommand,
  trainerEnvironment,
} from '../trainer/supervisor.ts';
import type { WarmTrainer } from '../trainer/warm.ts';
import { type Frame, type Frames, toFrame } from './frames.ts';
import { type Job, jobName } from './job.ts';
import { applyLines, type Ending, statusPayload } from './job-journal.ts';
import { type Judges, judgeRequest, writeSpec } from './job-spec.ts';
import {
  activeStates,
  checkTransition,
  type JobState,
  resumableStates,
  unfinishedStates,
} from './job-states.ts';
import type { Models } from './models.ts';
import { type Consumption, createTally, type Point, pickFrames, type Tally, toSeries } from './series.ts';
import type { TrainingRequest } from './training-request.ts';

export interface JobsOptions extends Judges {
  readonly store: Store;
  readonly frames: Frames;
  readonly models: Models;
  readonly command: TrainerCommand;
  readonly warm: WarmTrainer;
  readonly tools: JobSpec['tools'];
  readonly jobsDir: string;
  readonly logsDir: string | null;
  readonly hubToken: string | null;
  readonly waits: {
    readonly askMs: number;
    readonly termMs: number;
    readonly heartbeatMs: number;
    readonly lingerMs: number;
  };
  /** Holds what a request will write against what is free. @throws AppError `disk_full`. */
  readonly checkDisk: (request: TrainingRequest) => Promise<void>;
  /** What the machine did since it was last asked, for the trace of a step. */
  readonly takeTrace: () => Record<string, unknown> | null;
  /** Told when a training begins or ends to use the machine. */
  readonly onActive: (active: boolean) => void;
  readonly logger: { warn(fields: object, text: string): void; info(fields: object, text: string): void };
}

/** The life of training jobs. It alone changes their state. */
export interface Jobs {
  /**
   * Starts a job; with `queue` it waits its turn while another is unfinished.
   * @throws AppError `invalid`, `not_found`, `disk_full`, or `conflict` while another is unfinished and it may
   *   not wait.
   */
  start(request: TrainingRequest): Promise<Job>;
  /**
   * Stops a job (the running one, where none is named) with a checkpoint; one that waits is taken out of the
   * queue. Resolves when it has ended. @throws AppError `conflict` when there is nothing to stop.
   */
  stop(id?: number): Promise<Job>;
  /**
   * Ends a job without saving anything, then deletes it with its checkpoints; one that completed meanwhile
   * stays, with its model. Resolves with the job as it ended. @throws AppError `conflict` as `stop` does.
   */
  discard(id: number): Promise<Job>;
  /** @throws AppError `conflict` when it cannot be resumed now. */
  resume(id: number): Promise<Job>;
  get(id: number): Job;
  list(filter: JobFilter): { jobs: Job[]; total: number };
  /** How many jobs there are in each state. */
  counts(): { readonly state: string; readonly count: number }[];
  remove(id: number): Promise<void>;
  /**
   * The job that status answers tell of: the newest, unless its end was acknowledged. The same object until a
   * job changes, so that what is made of it can be kept.
   */
  current(): Job | null;
  unfinished(): Job | null;
  /** Acknowledges a finished job; false while one is unfinished, which changes nothing. */
  acknowledge(): boolean;
  /** The points of a job's curves, at most about `points` of them (0 for all). */
  series(id: number, points: number): ReturnType<typeof toSeries>;
  /** The newest points of a job, at most `count`. */
  recent(id: number, count: number): Point[];
  /** What a job has taken of the machine so far; steps that a resumed run did again count again. */
  consumption(id: number): Consumption;
  /** What was told of a job beside its curves: stored log and export frames, oldest first. */
  events(id: number): Frame[];
  /** The last lines of a job's log. */
  logTail(id: number, maxBytes: number): Promise<string>;
  /** Finds trainers of an earlier server again, and ends what has no trainer any more. */
  recover(): Promise<void>;
  /** Stops following; trainers go on. */
  close(): Promise<void>;
}

export function createJobs(options: JobsOptions): Jobs {
  const { store, frames, waits } = options;
  const closing = new AbortController();
  let markRecovered = () => {};
  const recovered = new Promise<void>((resolve) => {
    markRecovered = resolve;
  });
  /** What was added up of jobs that were asked about, up to a frame, so that no long series is read twice. */
  const tallies = new Map<number, { readonly tally: Tally; seq: number }>();
  const running = new Map<number, { trainer: Trainer | null; followed: Promise<void> }>();
  const folder = (id: number) => join(options.jobsDir, jobName(id));
  const read = (id: number): Job => {
    const row = store.jobs.get(id);
    if (row === null) throw new AppError('not_found', `There is no job ${jobName(id)}.`);
    return row as Job;
  };
  /** The job that holds the machine, or else the first that waits for it. */
  const unfinished = store.jobs.cached(() => {
    const found = store.jobs.inStates(activeStates)[0] ?? store.jobs.inStates(unfinishedStates)[0];
    return (found as Job | undefined) ?? null;
  });
  const current = store.jobs.cached(() => {
    const job = unfinished() ?? (store.jobs.newest() as Job | null);
    return job === null || job.acknowledged ? null : job;
  });
  const refuseSecond = () => {
    const other = unfinished();
    if (other !== null) {
      throw new AppError(
        'conflict',
        `A training is already in progress (${jobName(other.id)}, ${other.state}). Stop it first, or wait until it has ended.`,
      );
    }
  };

  /** Moves a job to a state, with other changes, and tells it. */
  function move(id: number, to: JobState, change: JobChange = {}): Job {
    return frames.commit((emit) => {
      checkTransition(read(id).state, to);
      store.jobs.update(id, { ...change, state: to });
      const job = read(id);
      emit('status', id, statusPayload(job));
      return job;
    });
  }

  /** Starts the trainer of a queued job and follows it. */
  async function launch(id: number): Promise<Job> {
    const started = move(id, 'starting', { startedAt: new Date().toISOString() });
    const spec = started.spec as JobSpec;
    const token = spec.model.path === null ? options.hubToken : null;
    let trainer: Trainer;
    try {
      trainer =
        // The warm one was started without a token, and what it imported has taken note of that.
        (token === null ? await options.warm.start(folder(id)) : null) ??
        (await startTrainer(options.command, folder(id), trainerEnvironment(options.command, token)));
    } catch (error) {
      return move(id, 'failed', {
        endedAt: new Date().toISOString(),
        errorCode: 'dependency_missing',
        errorMessage: `The trainer could not be started: ${(error as Error).message}.`,
        errorAdvice: 'Run "npm run doctor" to see what is missing.',
      });
    }
    store.jobs.update(id, { pid: trainer.identity.pid, pidStarted: trainer.identity.started });
    watch(id, trainer);
    return read(id);
  }

  /** Starts the first job that waits and is prepared, when nothing else runs. */
  async function launchNext(): Promise<void> {
    if (closing.signal.aborted || store.jobs.inStates(activeStates).length > 0) return;
    const next = store.jobs.inStates(['queued']).find(({ spec }) => spec !== null);
    if (next !== undefined) await launch(next.id);
  }

  function watch(id: number, trainer: Trainer | null): void {
    options.onActive(true);
    const followed = follow(id, trainer)
      .catch((error) => {
        options.logger.warn({ job: jobName(id), error: asAppError(error).message }, 'Following a job failed');
        fail(
          id,
          'internal',
          `The service lost track of the training: ${asAppError(error).message}.`,
          null,
          null,
        );
      })
      .finally(() => {
        running.delete(id);
        if (running.size === 0) options.onActive(false);
        return launchNext();
      });
    running.set(id, { trainer, followed });
  }

  async function follow(id: number, trainer: Trainer | null): Promise<void> {
    let stalled = false;
    const events = followTrainer(trainer, {
      jobDir: folder(id),
      offset: read(id).journalOffset,
      heartbeatMs: waits.heartbeatMs,
      signal: closing.signal,
      onBadLine: (text, reason) =>
        options.logger.warn(
          { job: jobName(id), line: text.slice(0, 500), reason },
          'A journal line was skipped',
        ),
    });
    for await (const event of events) {
      if (event.kind === 'lines') {
        const ending = frames.commit((emit) => {
          const applied = applyLines(read(id), event.lines, emit, options.takeTrace);
          const { state, phase, phaseProgress, phaseDetail, lastMetric, artifacts } = applied.job;
          // The offset of a line that ends the job is stored with that end.
          const journalOffset = applied.ending === null ? event.offset : read(id).journalOffset;
          store.jobs.update(id, {
            state,
            phase,
            phaseProgress,
            phaseDetail,
            lastMetric,
            artifacts,
            journalOffset,
          });
          return applied.ending;
        });
        if (ending !== null) {
          await finish(id, ending, event.offset, stalled);
          void linger(trainer);
          return;
        }
      } else if (event.kind === 'stalled') {
        stalled = true;
        const seconds = Math.round(event.silentMs / 1000);
        options.logger.warn({ job: jobName(id), seconds }, 'A trainer gives no sign of life');
        if (trainer !== null) void killTrainer(trainer, waits.termMs);
      } else {
        endWithoutWord(id, event.exit, event.logTail, stalled);
      }
    }
  }

  /** Stores how a trainer said that it ended. */
  async function finish(id: number, ending: Ending, journalOffset: number, stalled: boolean): Promise<void> {
    const endedAt = new Date().toISOString();
    if (ending.type === 'failed') {
      move(id, 'failed', {
        endedAt,
        journalOffset,
        errorCode: ending.code,
        errorMessage: ending.message,
        errorAdvice: ending.advice,
        errorEvidence: [ending.evidence, await readTail(join(folder(id), 'log.txt'))]
          .filter(Boolean)
          .join('\n'),
      });
    } else if (ending.outcome === 'stopped') {
      if (stalled)
        fail(id, 'stalled', 'The training gave no sign of life and was stopped.', null, '', journalOffset);
      else if (read(id).stopRequested) move(id, 'stopped', { endedAt, journalOffset });
      else {
        move(id, 'interrupted', {
          endedAt,
          journalOffset,
          errorCode: 'killed',
          errorMessage: `The training was ended by a signal at step ${ending.step}; its progress was saved.`,
          errorAdvice: 'Resume it to go on from there.',
        });
      }
    } else {
      const job = read(id);
      const model = await options.models.adopt(job, folder(id), ending.metrics, ending.verification);
      frames.commit((emit) => {
        checkTransition(job.state, 'completed');
        store.jobs.update(id, {
          state: 'completed',
          endedAt,
          journalOffset,
          resultMetrics: ending.metrics,
          verification: ending.verification,
        });
        const stored = options.models.insert(model);
        emit('status', id, statusPayload(read(id)));
        emit('model', id, { action: 'created', model_id: stored.modelId, id: stored.id, name: stored.name });
      });
    }
  }

  function fail(
    id: number,
    code: string,
    message: string,
    advice: string | null,
    evidence: string | null,
    journalOffset?: number,
  ): void {
    if ((unfinishedStates as readonly string[]).includes(read(id).state)) {
      move(id, 'failed', {
        endedAt: new Date().toISOString(),
        errorCode: code,
        errorMessage: message,
        errorAdvice: advice,
        errorEvidence: evidence,
        ...(journalOffset === undefined ? {} : { journalOffset }),
      });
    }
  }

  /** Stores the end of a trainer that wrote neither `done` nor `failed`. */
  function endWithoutWord(
    id: number,
    exit: { code: number | null; signal: string | null },
    logTail: string,
    stalled: boolean,
  ): void {
    const job = read(id);
    const ended = {
      endedAt: new Date().toISOString(),
      exitCode: exit.code,
      exitSignal: exit.signal,
      errorEvidence: logTail || null,
    };
    const last = logTail.split('\n').at(-1)?.trim();
    const said = last ? ` The last line of its log: ${last.slice(0, 500)}` : ' Its log is empty.';
    if (stalled) {
      move(id, 'failed', {
        ...ended,
        errorCode: 'stalled',
        errorMessage: `The training gave no sign of life for ${Math.round(waits.heartbeatMs / 1000)} s and was stopped.${said}`,
        errorAdvice: 'Resume it to go on from the last checkpoint.',
      });
    } else if (job.stopRequested) move(id, 'stopped', ended);
    else if (exit.code !== null) {
      move(id, 'failed', {
        ...ended,
        errorCode: 'internal',
        errorMessage: `The trainer ended with exit code ${exit.code} and no result.${said}`,
        errorAdvice: 'See the log for the cause; resume to go on from the last checkpoint.',
      });
    } else {
      const how =
        exit.signal === null ? 'ended while the service was not running' : `was killed by ${exit.signal}`;
      move(id, 'interrupted', {
        ...ended,
        errorCode: 'killed',
        errorMessage: `The trainer ${how}${exit.signal === 'SIGKILL' || exit.signal === null ? ', possibly out of memory' : ''}.${said}`,
        errorAdvice:
          'Resume it to go on from the last checkpoint; if memory ran out, set a smaller batch or max_seq_length.',
      });
    }
  }

  /** A trainer that is done but does not exit is given some time, then killed with its group. */
  async function linger(trainer: Trainer | null): Promise<void> {
    if (trainer !== null && !(await endsWithin(trainer, waits.lingerMs)))
      await killTrainer(trainer, waits.termMs);
  }

  async function stop(id: number | undefined, discard: boolean): Promise<Job> {
    // Until then a trainer of an earlier server is not known, and could not be asked.
    await recovered;
    const job = id === undefined ? unfinished() : read(id);
    if (job === null)
      throw new AppError('conflict', 'No training is in progress, so there is nothing to stop.');
    if (!unfinishedStates.includes(job.state)) {
      throw new AppError('conflict', `${jobName(job.id)} is ${job.state}, so there is nothing to stop.`);
    }
    // Stored first: should this service end in between, the next one knows what was wanted.
    if (discard) store.jobs.update(job.id, { discardRequested: true });
    const held = running.get(job.id);
    if (job.state === 'queued' || held === undefined)
      return move(job.id, 'stopped', { endedAt: new Date().toISOString() });
    if (job.state !== 'stopping') move(job.id, 'stopping', { stopRequested: true });
    if (held.trainer !== null) {
      void (discard ? killTrainer(held.trainer, 0) : stopTrainer(held.trainer, folder(job.id), waits));
    }
    await held.followed;
    return read(job.id);
  }

  async function remove(id: number): Promise<void> {
    const job = read(id);
    if (unfinishedStates.includes(job.state)) {
      throw new AppError('conflict', `${jobName(id)} is ${job.state}. Stop it before deleting it.`);
    }
    frames.commit((emit) => {
      store.jobs.remove(id);
      // Of no job: what is kept of this one goes with it.
      emit('status', null, { job_id: jobName(id), state: 'deleted' });
    });
    tallies.delete(id);
    await rm(folder(id), { recursive: true, force: true });
    if (options.logsDir !== null)
      await rm(join(options.logsDir, jobName(id)), { recursive: true, force: true });
  }

  /** Deletes a job that was to be discarded, once it has ended without a model. */
  async function discardEnded(id: number): Promise<void> {
    const job = store.jobs.get(id) as Job | null;
    if (job?.discardRequested && resumableStates.includes(job.state)) await remove(id);
  }

  return {
    async start(request) {
      if (!request.queue) refuseSecond();
      const judged = await judgeRequest(request, options);
      await options.checkDisk(request);
      const id = store.transaction(() => {
        if (!request.queue) refuseSecond();
        return store.jobs.insert({
          modelId: randomUUID(),
          state: 'queued' satisfies JobState,
          task: request.task,
          provider: judged.provider,
          strategy: judged.strategy,
          modelName: request.model_name,
          datasetName: judged.data.name,
          createdAt: new Date().toISOString(),
        });
      });
      try {
        const { logsDir, tools } = options;
        store.jobs.update(id, {
          spec: await writeSpec(judged, { name: jobName(id), folder: folder(id), logsDir, tools }),
        });
      } catch (error) {
        store.jobs.remove(id);
        await rm(folder(id), { recursive: true, force: true });
        throw error;
      }
      frames.commit((emit) => emit('status', id, statusPayload(read(id))));
      await launchNext();
      return read(id);
    },

    stop: (id) => stop(id, false),

    async discard(id) {
      const ended = await stop(id, true);
      await discardEnded(id);
      return ended;
    },

    async resume(id) {
      const job = read(id);
      refuseSecond();
      if (!resumableStates.includes(job.state)) {
        throw new AppError(
          'conflict',
          `${jobName(id)} is ${job.state}; only a job that was stopped, interrupted or has failed can be resumed.`,
        );
      }
      if (!existsSync(join(folder(id), 'spec.json'))) {
        throw new AppError(
          'conflict',
          `The folder of ${jobName(id)} is gone, so it cannot be resumed. Start it anew.`,
        );
      }
      // The process of the last run may still be on its way out.
      const previous = await findTrainer(folder(id), null);
      if (previous !== null && !(await endsWithin(previous, waits.lingerMs)))
        await killTrainer(previous, waits.termMs);
      // Before the state says so: nothing may find a queued job whose old request to stop still lies there.
      await rm(join(folder(id), 'stop'), { force: true });
      refuseSecond();
      move(id, 'queued', {
        stopRequested: false,
        discardRequested: false,
        acknowledged: false,
        endedAt: null,
        ...{ errorCode: null, errorMessage: null, errorAdvice: null, errorEvidence: null },
        ...{ exitCode: null, exitSignal: null, pid: null, pidStarted: null },
        ...{ phase: null, phaseProgress: null, phaseDetail: null },
      });
      return launch(id);
    },

    get: read,

    counts: () => store.jobs.counts(),

    list(filter) {
      const { jobs, total } = store.jobs.list(filter);
      return { jobs: jobs as Job[], total };
    },

    remove,

    current,

    unfinished,

    acknowledge() {
      if (unfinished() !== null) return false;
      const newest = store.jobs.newest();
      if (newest !== null && !newest.acknowledged) store.jobs.update(newest.id, { acknowledged: true });
      return true;
    },

    recent(id, count) {
      // Evaluations are among them, and steps that a resumed run wrote again.
      const events = store.events.tailOfJob(read(id).id, 'metrics', 2 * count);
      return toSeries(events, 0).train.slice(-count);
    },

    consumption(id) {
      const known = tallies.get(read(id).id) ?? { tally: createTally(), seq: 0 };
      for (const { seq, payload } of store.events.ofJob(id, 'metrics', known.seq)) {
        known.tally.add(payload as Point);
        known.seq = seq;
      }
      tallies.set(id, known);
      return known.tally.consumption();
    },

    series(id, points) {
      const { events } = store;
      read(id);
      if (points === 0) return toSeries(events.ofJob(id, 'metrics'), 0);
      return toSeries(events.bySeq(pickFrames(events.beginnings(id, 'metrics'), points)), 0);
    },

    events(id) {
      read(id);
      return (['log', 'export'] as const)
        .flatMap((type) => store.events.ofJob(id, type))
        .sort((a, b) => a.seq - b.seq)
        .map(toFrame);
    },

    logTail: (id, maxBytes) => readTail(join(folder(read(id).id), 'log.txt'), maxBytes),

    async recover() {
      for (const row of store.jobs.inStates(unfinishedStates)) {
        const job = row as Job;
        const known =
          job.pid === null || job.pidStarted === null ? null : { pid: job.pid, started: job.pidStarted };
        const trainer = await findTrainer(folder(job.id), known);
        if (job.state === 'queued' && job.spec === null) {
          fail(
            job.id,
            'internal',
            'The service ended before this training could be prepared.',
            'Start it again.',
            null,
          );
        }
        if (job.state === 'queued' && trainer !== null) move(job.id, 'starting');
        if (!(activeStates as readonly string[]).includes(read(job.id).state) || running.has(job.id))
          continue;
        if (trainer !== null) {
          store.jobs.update(job.id, { pid: trainer.identity.pid, pidStarted: trainer.identity.started });
          options.logger.info(
            { job: jobName(job.id), pid: trainer.identity.pid },
            'A running training was found again',
          );
          if (job.discardRequested) void killTrainer(trainer, 0);
          else if (job.stopRequested) void stopTrainer(trainer, folder(job.id), waits);
        }
        watch(job.id, trainer);
        void running.get(job.id)?.followed.then(() => discardEnded(job.id));
      }
      for (const { id } of store.jobs.toDiscard()) await discardEnded(id);
      await launchNext();
      markRecovered();
    },

    async close() {
      closing.abort();
      await Promise.all([...running.values()].map(({ followed }) => followed));
    },
  };
}
