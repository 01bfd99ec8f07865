import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '../../db/store.ts';
import type { EvaluationRow } from '../../db/tables/evaluations.ts';
import { AppError, asAppError, type FieldIssue } from '../../errors.ts';
import { cleanFolder, isPrepared, modelIn, type RowResult, startEvaluation } from '../../trainer/evaluate.ts';
import { isFromHub } from '../../trainer/merged-folder.ts';
import {
  downloadSecrets,
  findTrainer,
  killTrainer,
  type Trainer,
  type TrainerCommand,
} from '../../trainer/processes/supervisor.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { type Evaluation, evaluationName, type Progress } from './evaluation.ts';
import { evaluationFileName, isUnreadable, withFiles } from './evaluation-file.ts';
import type { EvaluationRequest } from './evaluation-request.ts';
import { followEvaluation, type Listener, type Outcome } from './follow-evaluation.ts';
import { fits, type Place } from './place.ts';
import { createPreparation, type PreparationOptions } from './preparation.ts';

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

export function createEvaluations(options: EvaluationsOptions): Evaluations {
  const { frames, command, logger } = options;
  const table = withFiles(options.store.evaluations, options.dir, (id, { message }) =>
    logger.warn(
      { evaluation: evaluationName(id), error: message },
      'The file of an evaluation could not be written',
    ),
  );
  const folderOf = (id: number) => join(options.dir, evaluationName(id));
  const preparation = createPreparation(options);
  const closing = new AbortController();
  /** Folders that are being made. */
  const preparing = new Map<number, Promise<string>>();
  const progress = new Map<number, Progress>();
  const warnings = new Map<number, string[]>();
  let run: Run | null = null;
  /** The decisions on what runs, one after another. */
  let turn: Promise<unknown> = Promise.resolve();

  function get(id: number): Evaluation {
    const row = table.get(id);
    if (row === null) throw new AppError('not_found', `There is no evaluation ${evaluationName(id)}.`);
    return withProgress(row);
  }
  const withProgress = (row: EvaluationRow): Evaluation => ({
    ...(row as Evaluation),
    progress: progress.get(row.id) ?? null,
  });

  const frameOf = ({ id, state, progress: now }: Evaluation) => ({
    evaluation_id: evaluationName(id),
    state,
    phase: now?.phase ?? null,
    progress: now?.share ?? null,
    detail: now?.detail ?? null,
  });
  const publish = (id: number, change: () => void) =>
    frames.commit((emit) => {
      change();
      emit('evaluation', null, frameOf(get(id)));
    });

  const nowText = () => new Date().toISOString();
  const removeFolder = (id: number) => rm(folderOf(id), { recursive: true, force: true });

  async function end(id: number, outcome: Outcome): Promise<void> {
    progress.delete(id);
    const found = warnings.get(id) ?? [];
    warnings.delete(id);
    const endedAt = nowText();
    publish(id, () => {
      if (outcome.kind === 'failed') {
        table.update(id, { state: 'failed', error: outcome.error, warnings: found, endedAt });
        return;
      }
      table.putResults(id, outcome.results);
      table.update(id, {
        state: 'completed',
        figures: outcome.figures,
        warnings: found,
        endedAt,
      });
    });
    await removeFolder(id);
  }

  /** Stores how an evaluation ended, or that it could not be stored. */
  async function endSafely(id: number, outcome: Outcome): Promise<void> {
    try {
      await end(id, outcome);
    } catch (error) {
      const { message } = asAppError(error);
      logger.warn(
        { evaluation: evaluationName(id), error: message },
        'The end of an evaluation could not be stored',
      );
      if (outcome.kind === 'completed') {
        await endSafely(id, { kind: 'failed', error: `Its results could not be stored: ${message}` });
      }
    }
  }

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

  /** Makes room for trainings, or starts the next evaluation. */
  async function step(): Promise<void> {
    if (closing.signal.aborted) return;
    const place = await options.place();
    if (run !== null) {
      if (run.ending === null && !fits(run.held, place)) await stop(run, 'yields');
      return;
    }
    const next = table
      .list()
      .filter(({ id, state }) => state === 'queued' && !preparing.has(id))
      .at(-1);
    if (next === undefined || place === null || closing.signal.aborted) return;
    await launch(next.id, place);
  }

  async function launch(id: number, { free, environment }: Place): Promise<void> {
    // Trainings take the first ones.
    const held = free?.slice(-1) ?? null;
    let trainer: Trainer;
    try {
      const secrets = isFromHub(modelIn(folderOf(id))) ? downloadSecrets(command, options.hubToken) : null;
      trainer = await startEvaluation(command, folderOf(id), secrets, environment(held));
    } catch (error) {
      const reason = (error as Error).message;
      await endSafely(id, {
        kind: 'failed',
        error: `It could not be started: ${reason}. Run "npm run doctor" to see what is missing.`,
      });
      decide();
      return;
    }
    progress.set(id, { phase: 'check', share: null, detail: null });
    const followed = { folder: folderOf(id), heartbeatMs: options.heartbeatMs, signal: closing.signal };
    const over = followEvaluation(trainer, followed, listenerOf(id))
      .catch((error): Outcome => ({ kind: 'failed', error: asAppError(error).message }))
      .then((outcome) => finish(id, outcome));
    run = { id, held, trainer, ending: null, over };
    publish(id, () => table.update(id, { state: 'running', startedAt: nowText() }));
  }

  const listenerOf = (id: number): Listener => ({
    progress(now) {
      progress.set(id, now);
      frames.send('evaluation', null, frameOf(get(id)));
    },
    warning: (message) => void warnings.set(id, [...(warnings.get(id) ?? []), message]),
    badLine: (line, reason) => logger.warn({ line, reason }, 'A journal line was skipped'),
  });

  /** Ends a run, and goes on with the queue; `close` ends those that it stops. Never rejects. */
  async function finish(id: number, outcome: Outcome | null): Promise<void> {
    if (closing.signal.aborted && outcome === null) return;
    const ending = run?.ending ?? null;
    if (ending === 'yields' && outcome?.kind !== 'completed') await requeue(id);
    else if (ending !== 'removed')
      await endSafely(id, outcome ?? { kind: 'failed', error: 'It was stopped.' });
    run = null;
    decide();
  }

  /** Puts an evaluation back into the queue, to start anew. */
  async function requeue(id: number): Promise<void> {
    progress.delete(id);
    warnings.delete(id);
    try {
      await cleanFolder(folderOf(id));
      publish(id, () => table.update(id, { state: 'queued', startedAt: null }));
    } catch (error) {
      const { message } = asAppError(error);
      logger.warn(
        { evaluation: evaluationName(id), error: message },
        'An evaluation could not go back to the queue',
      );
    }
  }

  async function stop(running: Run, ending: NonNullable<Run['ending']>): Promise<void> {
    running.ending = ending;
    // There is nothing to save.
    await killTrainer(running.trainer, 0);
    await running.over;
  }

  /** @throws AppError `conflict` if the queue is full. */
  function refuseMore(): void {
    const waiting = table.list().filter(({ state }) => state === 'queued').length;
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
      const prepared = await preparation.judge(request);
      // Others may have come meanwhile.
      refuseMore();
      const { subject, dataset, shape, rows } = prepared;
      const id = table.insert({
        state: 'queued',
        subject,
        dataset,
        shape,
        rows,
        createdAt: nowText(),
      });
      const work = prepared.write(evaluationName(id));
      preparing.set(id, work);
      try {
        table.update(id, { rowsDigest: await work });
      } catch (error) {
        table.remove(id);
        await removeFolder(id);
        throw error;
      } finally {
        preparing.delete(id);
      }
      publish(id, () => {});
      const started = get(id);
      decide();
      return started;
    },

    list: () => table.list().map(withProgress),
    get,
    results: (id) => table.results(get(id).id) as RowResult[],

    async remove(id) {
      get(id);
      await preparing.get(id)?.catch(() => undefined);
      await inTurn(async () => {
        get(id);
        if (run?.id === id) await stop(run, 'removed');
        progress.delete(id);
        warnings.delete(id);
        frames.commit((emit) => {
          table.remove(id);
          emit('evaluation', null, { evaluation_id: evaluationName(id), state: 'deleted' });
        });
        await removeFolder(id);
      });
    },

    reconsider: decide,

    async recover() {
      for (const { id, state } of table.list()) {
        if (state === 'running') {
          const left = await findTrainer(folderOf(id), null);
          if (left !== null) await killTrainer(left, 0);
          await endSafely(id, {
            kind: 'failed',
            error: 'The service was killed while it ran. Start it again.',
          });
        } else if (state === 'queued' && !isPrepared(folderOf(id))) {
          await endSafely(id, {
            kind: 'failed',
            error: 'The service ended before it could be prepared. Start it again.',
          });
        }
      }
      await table.describeAll();
      const known = new Set(
        table
          .list()
          .flatMap(({ id, state }) => [
            evaluationFileName(id),
            ...(state === 'queued' ? [evaluationName(id)] : []),
          ]),
      );
      for (const name of readdirSync(options.dir))
        if (!known.has(name) && !isUnreadable(options.dir, name))
          await rm(join(options.dir, name), { recursive: true, force: true });
    },

    async close() {
      closing.abort();
      await turn;
      if (run !== null) {
        await killTrainer(run.trainer, 0);
        await run.over;
      }
      if (run !== null && run.ending !== 'removed') await requeue(run.id);
    },
  };
}
