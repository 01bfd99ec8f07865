import type { Store } from '../../db/store.ts';
import { AppError, asAppError, type FieldIssue } from '../../errors.ts';
import type { RowResult } from '../../trainer/evaluate.ts';
import type { Bin } from '../bin/bin.ts';
import type { FrameLog } from '../events/frame-log.ts';
import type { Evaluation } from './evaluation.ts';
import { createEvaluationRecords } from './evaluation-records.ts';
import type { EvaluationRequest } from './evaluation-request.ts';
import { createEvaluationRun, type EvaluationRunOptions } from './evaluation-run.ts';
import { nextDecision } from './next-decision.ts';
import type { Place } from './place.ts';
import { createPreparation, type PreparationOptions, type Written } from './preparation.ts';
import { recoverEvaluations } from './recover-evaluations.ts';

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
  /** Deletes an evaluation, which ends it. @returns its ID in the bin, if it is kept. @throws AppError `not_found`. */
  remove(id: number, permanently?: boolean): Promise<string | null>;
  /** Called when trainings start or end: the evaluation makes room for them, or the next one starts. */
  reconsider(): void;
  /** Fails those that were running when the service was killed. Only before the first start. */
  recover(): Promise<void>;
  /** Puts the running one back into the queue. */
  close(): Promise<void>;
}

export interface EvaluationsOptions extends PreparationOptions, EvaluationRunOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly bin: Bin;
  /** What is free; `null` if an evaluation has to wait. */
  readonly place: () => Promise<Place | null>;
  readonly queueLimit: number;
}

export function createEvaluations(options: EvaluationsOptions): Evaluations {
  const { logger } = options;
  const records = createEvaluationRecords({ ...options, table: options.store.evaluations });
  const preparation = createPreparation(options);
  const closing = new AbortController();
  /** Folders that are being written. */
  const preparing = new Map<number, Promise<Written>>();
  /** The decisions on what runs, one after another. */
  let turn: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  }

  const decide = () => {
    inTurn(step).catch((error) => {
      logger.warn({ error: asAppError(error).message }, 'The evaluation queue has stopped');
    });
  };

  const run = createEvaluationRun(options, records, closing.signal, decide);

  async function step(): Promise<void> {
    if (closing.signal.aborted) return;
    const place = await options.place();
    if (closing.signal.aborted) return;
    const running = run.current();
    const decision = nextDecision({
      evaluations: records.list(),
      preparing: new Set(preparing.keys()),
      running: running && { held: running.held, isEnding: running.ending !== null },
      place,
    });
    if (decision.kind === 'yield') await run.stop('yields');
    else if (decision.kind === 'start')
      await run.start(decision.id, decision.held, (place as Place).environment(decision.held));
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
      const writing = write(id);
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

    async remove(id, permanently) {
      records.get(id);
      await preparing.get(id)?.catch(() => undefined);
      return inTurn(async () => {
        records.get(id);
        const isRunning = run.current()?.id === id;
        if (isRunning) await run.stop('removed');
        return records.remove(id, isRunning || permanently);
      });
    },

    reconsider: decide,

    recover: () => recoverEvaluations(records),

    async close() {
      closing.abort();
      await turn;
      await run.close();
    },
  };
}
