import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError, asAppError } from '../../../errors.ts';
import { refusalOf } from '../../../faults.ts';
import type { ImportMapping } from '../../../trainer/import-rows.ts';
import type { TrainerCommand } from '../../../trainer/supervisor.ts';
import type { FrameLog } from '../../events/frame-log.ts';
import { checkDatasetFile } from '../dataset-file.ts';
import { datasetName } from '../dataset-name.ts';
import type { Dataset, Datasets } from '../datasets.ts';
import { importPrefix } from './import-note.ts';
import { checkMapping, type ImportProblem, type ImportRecord, type ImportSource } from './import-record.ts';
import { proposeImport, runImport } from './import-run.ts';
import { checkSourceFile } from './source-file.ts';

export interface Imports {
  /** Takes a file as it arrives and proposes its import. Its faults are in the record. */
  fromUpload(filename: string, pieces: AsyncIterable<Buffer>): Promise<ImportRecord>;
  /** @throws AppError `not_found`. */
  fromDataset(name: string): Promise<ImportRecord>;
  /** @throws AppError `invalid` or `not_found` for what is no file. */
  fromPath(path: string): Promise<ImportRecord>;
  list(): ImportRecord[];
  /** @throws AppError `not_found`. */
  get(id: string): ImportRecord;
  /** The record with samples of another mapping, `null` for that of the detected shape. @throws AppError `invalid`, `not_found` or `conflict`. */
  preview(id: string, mapping: ImportMapping | null): Promise<ImportRecord>;
  /**
   * Starts the import, which goes on after this returns. A failed one can be started again.
   * @throws AppError `invalid`, `not_found`, `conflict` if it is not ready, `unavailable` if too many run.
   */
  start(id: string, options: StartOptions): ImportRecord;
  /** Cancels an import and forgets it. The dataset that it made stays. @throws AppError `not_found`. */
  remove(id: string): Promise<void>;
  /**
   * Imports a file as it is proposed, to the end. @param filename of the dataset, with `.jsonl`.
   * @throws AppError as the import fails.
   */
  convertFile(path: string, filename: string): Promise<Dataset>;
  /**
   * Imports a stored dataset as it is proposed, into a new one.
   * @throws AppError `invalid` if it needs no import, or as the import fails; `not_found`.
   */
  convertDataset(name: string): Promise<Dataset>;
  /** Ends all imports. */
  close(): Promise<void>;
}

export interface StartOptions {
  /** `null` for what is proposed. */
  readonly mapping: ImportMapping | null;
  /** The dataset's file name, replacing one of that name; `null` for a free one after the source's. */
  readonly name: string | null;
  readonly skipInvalid: boolean;
}

interface Entry {
  readonly record: ImportRecord;
  readonly paths: readonly string[];
  readonly folder: string;
  controller: AbortController;
  /** Settles when nothing runs. */
  work: Promise<unknown>;
}

/** Imports that are remembered; the oldest that does not run makes room, with its source. */
const keptImports = 20;
const forgottenAfterMs = 24 * 3_600_000;
const runningAtOnce = 4;
const retryAfterSeconds = 10;

export function createImports(options: {
  datasets: Datasets;
  datasetsDir: string;
  command: TrainerCommand;
  frames: Pick<FrameLog, 'send'>;
  limitBytes: number;
  version: string;
  logger: { info(fields: object, text: string): void };
}): Imports {
  const { datasets, datasetsDir, command, frames, limitBytes, version, logger } = options;
  const entries = new Map<string, Entry>();

  const tell = ({ id, state, progress, dataset, error }: ImportRecord) =>
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

  const workOf = ({ paths, folder, controller }: Entry) => ({
    ...{ command, paths, scratch: folder, limitBytes, signal: controller.signal },
  });

  function find(id: string): Entry {
    const entry = entries.get(id);
    if (entry !== undefined) return entry;
    throw new AppError(
      'not_found',
      `There is no import "${id.slice(0, 100)}". Imports end with the service.`,
    );
  }

  function change(record: ImportRecord, fields: Partial<ImportRecord>): void {
    Object.assign(record, fields);
    tell(record);
  }

  function fail(record: ImportRecord, thrown: unknown): void {
    const error = asAppError(thrown);
    const problem = error.details.problem as ImportProblem | null | undefined;
    if (problem) {
      record.problems.push(problem);
      record.totalProblems += 1;
    }
    change(record, { state: 'failed', error: error.message });
    logger.info({ import: record.id, source: record.source.kind, error: error.message }, 'An import failed');
  }

  async function open(source: ImportSource, folder: string, paths: readonly string[]): Promise<Entry> {
    const record: ImportRecord = {
      ...{ id: randomUUID(), state: 'reading', source, proposal: null, dataset: null },
      progress: { doneBytes: 0, totalBytes: source.sizeBytes, rows: 0, skipped: 0 },
      ...{ problems: [], totalProblems: 0, error: null },
    };
    const entry: Entry = {
      record,
      paths,
      folder,
      controller: new AbortController(),
      work: Promise.resolve(),
    };
    entries.set(record.id, entry);
    makeRoom();
    const timer = setTimeout(() => void forget(entry), forgottenAfterMs);
    timer.unref();
    tell(record);
    entry.work = propose(entry, null);
    await entry.work;
    return entry;
  }

  async function propose(entry: Entry, mapping: ImportMapping | null): Promise<void> {
    const { record } = entry;
    try {
      const proposal = await proposeImport(workOf(entry), mapping);
      change(record, { proposal, state: 'proposed', problems: [], totalProblems: 0, error: null });
    } catch (error) {
      fail(record, error);
    }
  }

  function makeRoom(): void {
    for (const entry of entries.values()) {
      if (entries.size <= keptImports) return;
      if (entry.record.state !== 'running' && entry.record.state !== 'reading') void forget(entry);
    }
  }

  async function forget(entry: Entry): Promise<void> {
    if (!entries.delete(entry.record.id)) return;
    const isRunning = entry.record.state === 'running' || entry.record.state === 'reading';
    entry.controller.abort();
    await entry.work.catch(() => undefined);
    await rm(entry.folder, { recursive: true, force: true });
    if (isRunning) change(entry.record, { state: 'cancelled', error: null });
  }

  async function newFolder(): Promise<string> {
    const folder = join(datasetsDir, importPrefix + randomUUID());
    await mkdir(folder, { recursive: true });
    return folder;
  }

  async function fromFile(kind: ImportSource['kind'], name: string, path: string): Promise<Entry> {
    const sizeBytes = await checkSourceFile(path, kind === 'dataset' ? 'dataset' : 'path');
    return open({ kind, name, sizeBytes }, await newFolder(), [path]);
  }

  async function run(entry: Entry, { mapping, name, skipInvalid }: StartOptions): Promise<Dataset | null> {
    const { record } = entry;
    try {
      const dataset = await runImport(workOf(entry), record, {
        mapping: mapping ?? record.proposal?.mapping ?? null,
        ...{ name, skipInvalid, version, datasets, onProgress: () => tell(record) },
      });
      change(record, { state: 'completed', dataset: dataset.name });
      await rm(entry.folder, { recursive: true, force: true });
      return dataset;
    } catch (error) {
      fail(record, error);
      return null;
    }
  }

  const imports: Imports = {
    async fromUpload(filename, pieces) {
      const folder = await newFolder();
      // The name is kept for messages and for the dataset's.
      const path = join(folder, 'source');
      try {
        const sizeBytes = await datasets.keepAside(path, pieces);
        const name = filename.normalize('NFC').split(/[/\\]/).at(-1)?.slice(0, 200) || 'dataset';
        return (await open({ kind: 'upload', name, sizeBytes }, folder, [path])).record;
      } catch (error) {
        await rm(folder, { recursive: true, force: true });
        throw error;
      }
    },
    async fromDataset(name) {
      return (await fromFile('dataset', name, join(datasetsDir, datasets.get(name).name))).record;
    },
    async fromPath(path) {
      return (await fromFile('path', basename(path), path)).record;
    },
    list: () => [...entries.values()].map(({ record }) => record).reverse(),
    get: (id) => find(id).record,

    async preview(id, mapping) {
      const entry = find(id);
      const { record } = entry;
      const { proposal } = record;
      refuseUnready(entry);
      if (mapping !== null) checkMapping(mapping, proposal?.columns ?? []);
      record.state = 'reading';
      entry.work = propose(entry, mapping);
      await entry.work;
      return record;
    },

    start(id, startOptions) {
      const entry = find(id);
      refuseUnready(entry);
      const { record } = entry;
      const mapping = startOptions.mapping ?? record.proposal?.mapping ?? null;
      if (startOptions.mapping !== null) checkMapping(startOptions.mapping, record.proposal?.columns ?? []);
      if (mapping === null && record.proposal?.target === null) {
        throw refusalOf('mapping', 'Choose the column that each field is taken from');
      }
      const running = [...entries.values()].filter(({ record: { state } }) => state === 'running').length;
      if (running >= runningAtOnce) {
        throw new AppError(
          'unavailable',
          `${running} imports are running, which is the most at once. Try again when one of them has ended.`,
          { details: { retryAfterSeconds } },
        );
      }
      const fresh = { doneBytes: 0, totalBytes: record.source.sizeBytes, rows: 0, skipped: 0 };
      Object.assign(record, { problems: [], totalProblems: 0, error: null, progress: fresh });
      change(record, { state: 'running' });
      entry.work = run(entry, startOptions);
      return record;
    },

    remove: (id) => forget(find(id)),

    async convertFile(path, filename) {
      const entry = await fromFile('path', basename(path), path);
      try {
        if (entry.record.state === 'proposed') {
          imports.start(entry.record.id, { mapping: null, name: filename, skipInvalid: false });
        }
        const dataset = await entry.work;
        if (dataset) return dataset as Dataset;
        throw new AppError('invalid', entry.record.error ?? 'The import was cancelled.', {
          details: { problems: entry.record.problems, totalProblems: entry.record.totalProblems },
        });
      } finally {
        await forget(entry);
      }
    },

    async convertDataset(name) {
      const { validation } = datasets.get(name);
      const path = join(datasetsDir, name);
      await checkDatasetFile(path, name);
      if (validation.valid && (await datasets.convertibleFrom(name)) === null) {
        throw new AppError('invalid', `${name} needs no conversion: its rows can be trained on as they are.`);
      }
      return imports.convertFile(path, datasetName(name, '-converted'));
    },

    async close() {
      await Promise.all([...entries.values()].map(forget));
    },
  };
  return imports;

  function refuseUnready({ record }: Entry): void {
    const { id, state, proposal } = record;
    if (proposal !== null && (state === 'proposed' || state === 'failed')) return;
    const why =
      state === 'failed'
        ? `cannot be read: ${record.error}`
        : `is ${state === 'reading' ? 'being read' : state}`;
    throw new AppError('conflict', `The import ${id} ${why}.`);
  }
}
