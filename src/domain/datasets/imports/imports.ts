import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError } from '../../../errors.ts';
import type { HubAccess } from '../../../hub/access.ts';
import type { HubDataset } from '../../../hub/dataset-files.ts';
import type { ImportMapping } from '../../../trainer/import-rows.ts';
import type { FrameLog } from '../../events/frame-log.ts';
import type { Dataset } from '../dataset.ts';
import { checkDatasetFile } from '../files/dataset-file.ts';
import { datasetName } from '../files/dataset-name.ts';
import { importPrefix } from '../files/import-note.ts';
import { checkMapping } from './check-mapping.ts';
import { checkReady, checkRowsAt, checkStart } from './check-start.ts';
import { createHubImport } from './hub-import.ts';
import { type HubWanted, readHubRepo } from './hub-split.ts';
import { createImportEntries, type ImportEntry } from './import-entries.ts';
import type { ImportRecord, ImportSource } from './import-record.ts';
import { createImportSteps, type ImportStepsOptions, type StartOptions } from './import-steps.ts';
import { checkSourceFile } from './source-file.ts';

export interface Imports {
  /** Takes a file as it arrives and proposes its import. Its faults are in the record. */
  fromUpload(filename: string, pieces: AsyncIterable<Buffer>): Promise<ImportRecord>;
  /** @throws AppError `not_found`. */
  fromDataset(name: string): Promise<ImportRecord>;
  /** @throws AppError `invalid` or `not_found` for what is no file. */
  fromPath(path: string): Promise<ImportRecord>;
  /**
   * Downloads a dataset of the hub and proposes its import; returns when the download has begun.
   * @throws AppError `invalid` with the names that there are, and as `readHubDataset`.
   */
  fromHub(wanted: HubWanted): Promise<ImportRecord>;
  /** The configurations and splits of a dataset on the hub. @throws AppError as `readHubDataset`. */
  hubDataset(repo: string): Promise<HubDataset>;
  list(): ImportRecord[];
  /** @throws AppError `not_found`. */
  get(id: string): ImportRecord;
  /**
   * The record with samples of another mapping, `null` for that of the detected shape.
   * @param rowsAt which list of a JSON object has the rows, by default the one before.
   * @throws AppError `invalid`, `not_found` or `conflict`.
   */
  preview(id: string, mapping: ImportMapping | null, rowsAt?: string): Promise<ImportRecord>;
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

export interface ImportsOptions extends ImportStepsOptions {
  readonly datasetsDir: string;
  readonly frames: Pick<FrameLog, 'send'>;
  readonly hub: HubAccess;
  readonly logger: { info(fields: object, text: string): void };
}

async function newFolder(datasetsDir: string): Promise<string> {
  const folder = join(datasetsDir, importPrefix + randomUUID());
  await mkdir(folder, { recursive: true });
  return folder;
}

/** Whether it is, or was, being downloaded; a download goes on when it is asked for again. */
const isDownload = ({ record }: ImportEntry) => record.source.kind === 'hub' && record.proposal === null;

export function createImports(options: ImportsOptions): Imports {
  const { datasets, datasetsDir, hub } = options;
  const entries = createImportEntries(options.frames, options.logger);
  const { find, change, forget } = entries;
  const { open, propose, run } = createImportSteps(options, entries);

  async function fromFile(kind: ImportSource['kind'], name: string, path: string): Promise<ImportEntry> {
    const sizeBytes = await checkSourceFile(path, kind === 'dataset' ? 'dataset' : 'path');
    const entry = open({ kind, name, sizeBytes }, await newFolder(datasetsDir), [path]);
    await entry.work;
    return entry;
  }

  const imports: Imports = {
    async fromUpload(filename, pieces) {
      const folder = await newFolder(datasetsDir);
      // The name is kept for messages and for the dataset's.
      const path = join(folder, 'source');
      try {
        const sizeBytes = await datasets.keepAside(path, pieces);
        const name = filename.normalize('NFC').split(/[/\\]/).at(-1)?.slice(0, 200) || 'dataset';
        const { record, work } = open({ kind: 'upload', name, sizeBytes }, folder, [path]);
        await work;
        return record;
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
    hubDataset: (repo) => readHubRepo(hub, repo, null),
    fromHub: createHubImport(options, entries, open),

    list: () => entries.list().map(({ record }) => record),
    get: (id) => find(id).record,

    async preview(id, mapping, rowsAt) {
      const entry = find(id);
      const { record } = entry;
      checkReady(record);
      if (rowsAt !== undefined) checkRowsAt(rowsAt, record);
      // Another list has other columns.
      const isOther = rowsAt !== undefined && rowsAt !== record.proposal?.rows_at;
      if (mapping !== null && !isOther) checkMapping(mapping, record.proposal?.columns ?? []);
      record.state = 'reading';
      entry.work = propose(entry, isOther ? null : mapping, rowsAt);
      await entry.work;
      return isOther && mapping !== null && record.error === null ? imports.preview(id, mapping) : record;
    },

    start(id, startOptions) {
      const entry = find(id);
      const { record } = entry;
      checkStart(record, startOptions.mapping, imports.list());
      const fresh = { doneBytes: 0, totalBytes: record.source.sizeBytes, rows: 0, skipped: 0 };
      Object.assign(record, { problems: [], totalProblems: 0, leftOut: [], error: null, progress: fresh });
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
      await Promise.all(entries.list().map((entry) => forget(entry, isDownload(entry))));
    },
  };
  return imports;
}
