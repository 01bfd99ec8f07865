import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { EvaluationRow, EvaluationStore, NewEvaluation } from '../../db/tables/evaluations.ts';
import { asAppError } from '../../errors.ts';
import { cleanFolder, type RowResult } from '../../trainer/evaluate.ts';
import type { Bin } from '../bin/bin.ts';
import { numberOf } from '../bin/number-of.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { type Evaluation, evaluationName, type Progress } from './evaluation.ts';
import { evaluationFileName, evaluationRowsName, isUnreadable, withFiles } from './evaluation-file.ts';
import { createEvaluationReader } from './evaluation-reader.ts';
import type { Outcome } from './follow-evaluation.ts';

/** The stored evaluations with their folders, and what is known of one that runs. Every change of state is published. */
export interface EvaluationRecords {
  /** Newest first. */
  list(): Evaluation[];
  /** @throws AppError `not_found`. */
  get(id: number): Evaluation;
  /** The results of the first rows of a completed one. @throws AppError `not_found`. */
  results(id: number): RowResult[];
  /** Where one is prepared and runs. */
  folderOf(id: number): string;
  /** Stores a new one, unpublished until it is `prepared`. @returns its ID. */
  add(row: NewEvaluation): number;
  /** Its folder is written, with rows of which this is known. */
  prepared(id: number, rows: Pick<EvaluationRow, 'rowsDigest' | 'warnings'>): Evaluation;
  /** Removes one that could not be prepared. */
  discard(id: number): Promise<void>;
  started(id: number): void;
  progress(id: number, progress: Progress): void;
  warning(id: number, message: string): void;
  /** Stores how one ended, or that this could not be stored. Never rejects. */
  end(id: number, outcome: Outcome): Promise<void>;
  /** Puts one back into the queue, to start anew. Never rejects. */
  requeue(id: number): Promise<void>;
  /** @returns its ID in the bin, if it is kept. */
  remove(id: number, permanently?: boolean): Promise<string | null>;
  /** Writes missing files (docs/job-folder.md), and removes what belongs to no evaluation. */
  tidy(): Promise<void>;
}

export interface EvaluationRecordsOptions {
  readonly table: EvaluationStore;
  readonly frames: FrameLog;
  readonly bin: Bin;
  /** The folder of all evaluations. */
  readonly dir: string;
  readonly logger: { warn(fields: object, text: string): void };
}

const nowText = () => new Date().toISOString();

const frameOf = ({ id, state, progress }: Evaluation) => ({
  evaluation_id: evaluationName(id),
  state,
  phase: progress?.phase ?? null,
  progress: progress?.share ?? null,
  detail: progress?.detail ?? null,
});

export function createEvaluationRecords(options: EvaluationRecordsOptions): EvaluationRecords {
  const { frames, bin, dir } = options;
  const warn = (id: number, error: unknown, text: string) =>
    options.logger.warn({ evaluation: evaluationName(id), error: asAppError(error).message }, text);
  const table = withFiles(options.table, dir, (id, error) =>
    warn(id, error, 'The file of an evaluation could not be written'),
  );
  const reader = createEvaluationReader(table);
  const { list, get, forget } = reader;
  const folderOf = (id: number) => join(dir, evaluationName(id));
  const removeFolder = (id: number) => rm(folderOf(id), { recursive: true, force: true });
  async function removeFiles(id: number): Promise<void> {
    await removeFolder(id);
    await rm(join(dir, evaluationRowsName(id)), { force: true });
  }

  const publish = (id: number, change: () => void) =>
    frames.commit((emit) => {
      change();
      emit('evaluation', null, frameOf(get(id)));
    });

  bin.restores('evaluation', {
    restored({ ref }, emit) {
      const id = numberOf(ref);
      // Writes its file again.
      table.update(id, {});
      emit('evaluation', null, frameOf(get(id)));
    },
  });

  async function store(id: number, outcome: Outcome): Promise<void> {
    // Those of its rows are stored already.
    const warnings = [...(table.get(id)?.warnings ?? []), ...forget(id)];
    const ended = { warnings, endedAt: nowText() };
    publish(id, () => {
      if (outcome.kind === 'failed') {
        table.update(id, { state: 'failed', error: outcome.error, ...ended });
        return;
      }
      table.putResults(id, outcome.results);
      table.update(id, { state: 'completed', figures: outcome.figures, ...ended });
    });
    await removeFolder(id);
  }

  async function end(id: number, outcome: Outcome): Promise<void> {
    try {
      await store(id, outcome);
    } catch (error) {
      warn(id, error, 'The end of an evaluation could not be stored');
      if (outcome.kind === 'failed') return;
      const { message } = asAppError(error);
      await end(id, { kind: 'failed', error: `Its results could not be stored: ${message}` });
    }
  }

  return {
    list,
    get,
    results: (id) => table.results(get(id).id) as RowResult[],
    folderOf,
    add: (row) => table.insert(row),

    prepared(id, { rowsDigest, warnings }) {
      publish(id, () => table.update(id, { rowsDigest, warnings }));
      return get(id);
    },

    async discard(id) {
      table.remove(id);
      await removeFiles(id);
    },

    started(id) {
      reader.progress(id, { phase: 'check', share: null, detail: null });
      publish(id, () => table.update(id, { state: 'running', startedAt: nowText() }));
    },

    progress(id, progress) {
      reader.progress(id, progress);
      frames.send('evaluation', null, frameOf(get(id)));
    },

    warning: reader.warning,
    end,

    async requeue(id) {
      forget(id);
      try {
        await cleanFolder(folderOf(id));
        publish(id, () => table.update(id, { state: 'queued', startedAt: null }));
      } catch (error) {
        warn(id, error, 'An evaluation could not go back to the queue');
      }
    },

    async remove(id, permanently) {
      const { state, subject, dataset } = get(id);
      // What is cancelled has no results to come back for.
      const place = await bin.place([], state === 'queued' || state === 'running' || permanently);
      forget(id);
      const binId = await bin.discard(place, {
        kind: 'evaluation',
        ref: evaluationName(id),
        name: `${subject.name} · ${dataset}`,
        rows: [
          { table: 'evaluations', column: 'id', value: id },
          { table: 'evaluation_rows', column: 'evaluation_id', value: id },
        ],
        remove(emit) {
          table.remove(id);
          emit('evaluation', null, { evaluation_id: evaluationName(id), state: 'deleted' });
        },
      });
      await removeFiles(id);
      return binId;
    },

    async tidy() {
      await table.describeAll();
      await removeOthers(dir, list());
    },
  };
}

/** Removes what belongs to no evaluation. */
async function removeOthers(dir: string, evaluations: readonly Evaluation[]): Promise<void> {
  const known = new Set(
    evaluations.flatMap(({ id, state }) => [
      evaluationFileName(id),
      evaluationRowsName(id),
      ...(state === 'queued' ? [evaluationName(id)] : []),
    ]),
  );
  for (const name of readdirSync(dir))
    if (!known.has(name) && !isUnreadable(dir, name))
      await rm(join(dir, name), { recursive: true, force: true });
}
