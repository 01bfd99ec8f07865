import type { Store } from '../../db/store.ts';
import { AppError, asAppError, type FieldIssue } from '../../errors.ts';
import { isPrepared, modelIn, type RowResult, startEvaluation } from '../../trainer/evaluate.ts';
import { isFromHub } from '../../trainer/merged-folder.ts';
import {
  downloadSecrets,
  findTrainer,
  killTrainer,
  type Trainer,
  type TrainerCommand,
} from '../../trainer/processes/supervisor.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { type Evaluation, evaluationName } from './evaluation.ts';
import { createEvaluationRecords } from './evaluation-records.ts';
import type { EvaluationRequest } from './evaluation-request.ts';
import { followEvaluation, type Outcome } from './follow-evaluation.ts';
import { nextDecision } from './next-decision.ts';
import type { Place } from './place.ts';
import { createPreparation, type PreparationOptions, type Written } from './preparation.ts';

/** Scores datasets with models, one after another, while no training needs the devices. */
export interface Evaluations {
  /** @throws AppError `invalid`, `not_found` or `disk_full`; `conflict` if the queue is full. */
  start(request: EvaluationRequest): Promise<Evaluation>;
  /** Every error for which a start would reject a request, as far as the request can be read. */
  faults(fields: Partial<EvaluationRequest>, refused: ReadonlySet<string>): Promise<readonly FieldIssue[]>;
  /** Newest first. */
  list(): Evaluation[];
  /** @throws AppError `not_found`. */
  get(id: number): Evaluation;
  /** The results of the first rows of a completed one. */
  results(id: number): RowResult[];
  /** Deletes an evaluation, which ends it. @throws AppError `not_found`. */
  remove(id: number): Promise<void>;
  /** Called when trainings start or end: the evaluation makes room for them, or the next one starts. */
  reconsider(): void;
  /** Fails those that were running when the service was killed. Only before the first start. */
  recover(): Promise<void>;
  /** Puts the running one back into the queue. */
  close(): Promise<void>;
}

export interface EvaluationsOptions extends PreparationOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly command: TrainerCommand;
  readonly hubToken: string | null;
  /** What is free; `null` if an evaluation has to wait. */
  readonly place: () => Promise<Place | null>;
  readonly queueLimit: number;
  readonly heartbeatMs: number;
  readonly logger: { warn(fields: object, text: string): void };
}

interface Run {
  readonly id: number;
  readonly held: readonly number[] | null;
  readonly trainer: Trainer;
  /** Why it is being ended, if it is. */
  ending: 'removed' | 'yields' | null;
  readonly over: Promise<void>;
}

// Longer than other functions: everything in it starts, stops or awaits the one `run`.
export function createEvaluations(options: EvaluationsOptions): Evaluations {
  const { command, logger } = options;
  const records = createEvaluationRecords({ ...options, table: options.store.evaluations });
  const preparation = createPreparation(options);
  const closing = new AbortController();
  /** Folders that are being written. */
  const preparing = new Map<number, Promise<Written>>();
  let run: Run | null = null;
  /** The decisions on what runs, one after another. */
  let turn: Promise<unknown> = Promise.resolve();

  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  }

  const decide = () => {
    inTurn(step).catch((error) => {
      logger.warn({ error: asAppError(error).message }, 'The evaluation queue has stopped');
    });
  };

  async function step(): Promise<void> {
    if (closing.signal.aborted) return;
    const place = await options.place();
    if (closing.signal.aborted) return;
    const decision = nextDecision({
      evaluations: records.list(),
      preparing: new Set(preparing.keys()),
      running: run && { held: run.held, isEnding: run.ending !== null },
      place,
    });
    if (decision.kind === 'yield') await stop(run as Run, 'yields');
    else if (decision.kind === 'start')
      await launch(decision.id, decision.held, (place as Place).environment(decision.held));
  }

  async function launch(id: number, held: Run['held'], environment: NodeJS.ProcessEnv): Promise<void> {
    const folder = records.folderOf(id);
    let trainer: Trainer;
    try {
      const secrets = isFromHub(modelIn(folder)) ? downloadSecrets(command, options.hubToken) : null;
      trainer = await startEvaluation(command, folder, secrets, environment);
    } catch (error) {
      const reason = (error as Error).message;
      const advice = 'Run "npm run doctor" to see what is missing.';
      await records.end(id, { kind: 'failed', error: `It could not be started: ${reason}. ${advice}` });
      decide();
      return;
    }
    const followed = { folder, heartbeatMs: options.heartbeatMs, signal: closing.signal };
    const listener = {
      progress: records.progress.bind(null, id),
      warning: records.warning.bind(null, id),
      badLine: (line: string, reason: string) => logger.warn({ line, reason }, 'A journal line was skipped'),
    };
    const over = followEvaluation(trainer, followed, listener)
      .catch((error): Outcome => ({ kind: 'failed', error: asAppError(error).message }))
      .then((outcome) => finish(id, outcome));
    run = { id, held, trainer, ending: null, over };
    records.started(id);
  }

  /** Ends a run, and continues with the queue; `close` ends those that it stops. Never rejects. */
  async function finish(id: number, outcome: Outcome | null): Promise<void> {
    if (closing.signal.aborted && outcome === null) return;
    const ending = run?.ending ?? null;
    if (ending === 'yields' && outcome?.kind !== 'completed') await records.requeue(id);
    else if (ending !== 'removed')
      await records.end(id, outcome ?? { kind: 'failed', error: 'It was stopped.' });
    run = null;
    decide();
  }

  async function stop(running: Run, ending: NonNullable<Run['ending']>): Promise<void> {
    running.ending = ending;
    // There is nothing to save.
    await killTrainer(running.trainer, 0);
    await running.over;
  }

  /** @throws AppError `conflict` if the queue is full. */
  function refuseMore(): void {
    const waiting = records.list().filter(({ state }) => state === 'queued').length;
    if (waiting < options.queueLimit) return;
    throw new AppError(
      'conflict',
      `The queue is full: ${waiting} evaluations are waiting. Wait until one has started, or delete one.`,
    );
  }

  return {
    faults: preparation.faults,

    async start(request) {
      refuseMore();
      const { subject, dataset, shape, rows, write } = await preparation.judge(request);
      // Others may have come meanwhile.
      refuseMore();
      const createdAt = new Date().toISOString();
      const id = records.add({ state: 'queued', subject, dataset, shape, rows, createdAt });
      const writing = write(evaluationName(id));
      preparing.set(id, writing);
      try {
        return records.prepared(id, await writing);
      } catch (error) {
        await records.discard(id);
        throw error;
      } finally {
        preparing.delete(id);
        decide();
      }
    },

    list: records.list,
    get: records.get,
    results: records.results,

    async remove(id) {
      records.get(id);
      await preparing.get(id)?.catch(() => undefined);
      await inTurn(async () => {
        records.get(id);
        if (run?.id === id) await stop(run, 'removed');
        await records.remove(id);
      });
    },

    reconsider: decide,

    async recover() {
      for (const { id, state } of records.list()) {
        const folder = records.folderOf(id);
        if (state === 'running') {
          const left = await findTrainer(folder, null);
          if (left !== null) await killTrainer(left, 0);
          const error = 'The service was killed while it ran. Start it again.';
          await records.end(id, { kind: 'failed', error });
        } else if (state === 'queued' && !isPrepared(folder)) {
          const error = 'The service ended before it could be prepared. Start it again.';
          await records.end(id, { kind: 'failed', error });
        }
      }
      await records.tidy();
    },

    async close() {
      closing.abort();
      await turn;
      if (run !== null) {
        await killTrainer(run.trainer, 0);
        await run.over;
      }
      if (run !== null && run.ending !== 'removed') await records.requeue(run.id);
    },
  };
}
