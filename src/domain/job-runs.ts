import { join } from 'node:path';
import type { Store } from '../db/store.ts';
import { asAppError } from '../errors.ts';
import type { JobSpec } from '../trainer/protocol.ts';
import {
  endsWithin,
  followTrainer,
  killTrainer,
  readTail,
  startTrainer,
  type Trainer,
  type TrainerCommand,
  trainerEnvironment,
} from '../trainer/supervisor.ts';
import type { WarmTrainer } from '../trainer/warm.ts';
import type { Frames } from './frames.ts';
import { type Job, jobName } from './job.ts';
import { applyLines, type Ending, statusPayload } from './job-journal.ts';
import type { JobRecords } from './job-records.ts';
import { activeStates, checkTransition, unfinishedStates } from './job-states.ts';
import type { Models } from './models.ts';

export interface JobRunsOptions {
  readonly store: Store;
  readonly frames: Frames;
  readonly models: Models;
  readonly command: TrainerCommand;
  readonly warm: WarmTrainer;
  readonly hubToken: string | null;
  readonly waits: {
    readonly askMs: number;
    readonly termMs: number;
    readonly heartbeatMs: number;
    readonly lingerMs: number;
  };
  /** What the machine did since it was last asked, for the trace of a step. */
  readonly takeTrace: () => Record<string, unknown> | null;
  /** Told when a training begins or ends to use the machine. */
  readonly onActive: (active: boolean) => void;
  readonly logger: { warn(fields: object, text: string): void; info(fields: object, text: string): void };
}

/** A job that is being followed: its process, where there still is one, and the end of it. */
export interface Run {
  readonly trainer: Trainer | null;
  readonly followed: Promise<void>;
}

/** The runs of jobs: their processes, from the start to the end that is stored. */
export interface JobRuns {
  /** Starts the trainer of a queued job and follows it. */
  launch(id: number): Promise<Job>;
  /** Starts the first job that waits and is prepared, when nothing else runs. */
  launchNext(): Promise<void>;
  /** Follows a trainer that was found again, or stores the end of a job whose trainer (null) is gone. */
  watch(id: number, trainer: Trainer | null): Run;
  /** The run of a job that is followed now. */
  of(id: number): Run | undefined;
  /** Stores that a job failed, unless it has ended. */
  fail(id: number, failure: Failure): void;
  /** Stops following; trainers go on. */
  close(): Promise<void>;
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly advice?: string;
  readonly evidence?: string;
  readonly journalOffset?: number;
}

export function createJobRuns(
  options: JobRunsOptions,
  { read, move }: JobRecords,
  folder: (id: number) => string,
): JobRuns {
  const { store, frames, waits } = options;
  const closing = new AbortController();
  const running = new Map<number, Run>();

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

  async function launchNext(): Promise<void> {
    if (closing.signal.aborted || store.jobs.inStates(activeStates).length > 0) return;
    const next = store.jobs.inStates(['queued']).find(({ spec }) => spec !== null);
    if (next !== undefined) await launch(next.id);
  }

  function watch(id: number, trainer: Trainer | null): Run {
    options.onActive(true);
    const followed = follow(id, trainer)
      .catch((error) => {
        options.logger.warn({ job: jobName(id), error: asAppError(error).message }, 'Following a job failed');
        const message = `The service lost track of the training: ${asAppError(error).message}.`;
        fail(id, { code: 'internal', message });
      })
      .finally(() => {
        running.delete(id);
        if (running.size === 0) options.onActive(false);
        return launchNext();
      });
    const run = { trainer, followed };
    running.set(id, run);
    return run;
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
      if (stalled) {
        const message = 'The training gave no sign of life and was stopped.';
        fail(id, { code: 'stalled', message, journalOffset });
      } else if (read(id).stopRequested) move(id, 'stopped', { endedAt, journalOffset });
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

  function fail(id: number, { code, message, advice, evidence, journalOffset }: Failure): void {
    if (!unfinishedStates.includes(read(id).state)) return;
    move(id, 'failed', {
      endedAt: new Date().toISOString(),
      errorCode: code,
      errorMessage: message,
      errorAdvice: advice ?? null,
      errorEvidence: evidence ?? null,
      ...(journalOffset === undefined ? {} : { journalOffset }),
    });
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

  return {
    launch,
    launchNext,
    watch,
    of: (id) => running.get(id),
    fail,
    async close() {
      closing.abort();
      await Promise.all([...running.values()].map(({ followed }) => followed));
    },
  };
}
