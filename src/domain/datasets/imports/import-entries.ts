import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { AppError, asAppError } from '../../../errors.ts';
import type { FrameLog } from '../../events/frame-log.ts';
import type { ImportProblem, ImportRecord, ImportSource } from './import-record.ts';

/** An import that is remembered, with what it holds. */
export interface ImportEntry {
  readonly record: ImportRecord;
  readonly paths: readonly string[];
  /** Its own folder, which is deleted with it. */
  readonly folder: string;
  readonly controller: AbortController;
  /** Settles when nothing runs. */
  work: Promise<unknown>;
}

/** The imports that are remembered: one of which nothing runs makes room for a new one, and each ends after a day. */
export interface ImportEntries {
  /** Newest first. */
  list(): ImportEntry[];
  /** @throws AppError `not_found`. */
  find(id: string): ImportEntry;
  add(source: ImportSource, folder: string, paths: readonly string[]): ImportEntry;
  /** Changes a record, and sends it to the page. */
  change(record: ImportRecord, fields: Partial<ImportRecord>): void;
  fail(record: ImportRecord, thrown: unknown): void;
  /** Cancels an import, and deletes its folder unless `keepFolder` is set. */
  forget(entry: ImportEntry, keepFolder?: boolean): Promise<void>;
}

/** Imports that are remembered; the oldest that does not run makes room, with its source. */
const keptImports = 20;
const forgottenAfterMs = 24 * 3_600_000;

const isBusy = ({ record: { state } }: ImportEntry) => state === 'running' || state === 'reading';

export function createImportEntries(
  frames: Pick<FrameLog, 'send'>,
  logger: { info(fields: object, text: string): void },
): ImportEntries {
  const entries = new Map<string, ImportEntry>();

  function makeRoom(): void {
    for (const entry of entries.values()) {
      if (entries.size <= keptImports) return;
      if (!isBusy(entry)) void remembered.forget(entry);
    }
  }

  const remembered: ImportEntries = {
    list: () => [...entries.values()].reverse(),

    find(id) {
      const entry = entries.get(id);
      if (entry !== undefined) return entry;
      throw new AppError(
        'not_found',
        `There is no import "${id.slice(0, 100)}". Imports end with the service.`,
      );
    },

    add(source, folder, paths) {
      const record: ImportRecord = {
        id: randomUUID(),
        state: 'reading',
        source,
        proposal: null,
        dataset: null,
        progress: { doneBytes: 0, totalBytes: source.sizeBytes, rows: 0, skipped: 0 },
        problems: [],
        totalProblems: 0,
        leftOut: [],
        error: null,
      };
      const controller = new AbortController();
      const entry: ImportEntry = { record, paths, folder, controller, work: Promise.resolve() };
      entries.set(record.id, entry);
      makeRoom();
      const timer = setTimeout(() => void remembered.forget(entry), forgottenAfterMs);
      timer.unref();
      remembered.change(record, {});
      return entry;
    },

    change(record, fields) {
      Object.assign(record, fields);
      const { id, state, progress, dataset, error } = record;
      frames.send('import', null, {
        id,
        state,
        progress: {
          done_bytes: progress.doneBytes,
          total_bytes: progress.totalBytes,
          rows: progress.rows,
          skipped: progress.skipped,
        },
        dataset,
        error: error === null ? null : { message: error },
      });
    },

    fail(record, thrown) {
      const error = asAppError(thrown);
      const problem = error.details.problem as ImportProblem | null | undefined;
      if (problem) {
        record.problems.push(problem);
        record.totalProblems += 1;
      }
      remembered.change(record, { state: 'failed', error: error.message });
      logger.info(
        { import: record.id, source: record.source.kind, error: error.message },
        'An import failed',
      );
    },

    async forget(entry, keepFolder = false) {
      if (!entries.delete(entry.record.id)) return;
      const wasBusy = isBusy(entry);
      entry.controller.abort();
      await entry.work.catch(() => undefined);
      if (!keepFolder) await rm(entry.folder, { recursive: true, force: true });
      if (wasBusy) remembered.change(entry.record, { state: 'cancelled', error: null });
    },
  };
  return remembered;
}
