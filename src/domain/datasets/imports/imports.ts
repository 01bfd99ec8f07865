import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError } from '../../../errors.ts';
import { refusalOf } from '../../../faults.ts';
import type { HubAccess } from '../../../hub/access.ts';
import type { HubDataset, HubDatasetFile } from '../../../hub/dataset-files.ts';
import type { ImportMapping } from '../../../trainer/import-rows.ts';
import type { TrainerCommand } from '../../../trainer/processes/supervisor.ts';
import type { FrameLog } from '../../events/frame-log.ts';
import { checkRoom } from '../../machine/disk-room.ts';
import type { Dataset } from '../dataset.ts';
import type { Datasets } from '../datasets.ts';
import { checkDatasetFile } from '../files/dataset-file.ts';
import { datasetName } from '../files/dataset-name.ts';
import { importPrefix } from '../files/import-note.ts';
import { checkMapping } from './check-mapping.ts';
import { downloadFiles, downloadFolder, keptBytes, pathsIn } from './hub-download.ts';
import { type HubWanted, hubSplit, readHubRepo } from './hub-split.ts';
import { createImportEntries, type ImportEntry } from './import-entries.ts';
import type { ImportRecord, ImportSource } from './import-record.ts';
import { proposeImport, runImport } from './import-run.ts';
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

/** Whether it failed before it could be proposed. */
const isUnreadable = ({ state, proposal }: ImportRecord) => state === 'failed' && proposal === null;

/** How a proposed mapping is asked for. */
const askFor = (mapping: ImportMapping | null) =>
  `give the mapping to use, such as ${JSON.stringify(mapping).slice(0, 500)}`;

const runningAtOnce = 4;
const retryAfterSeconds = 10;
/** Minimum interval between progress frames of a download. */
const progressIntervalMs = 250;

export function createImports(options: {
  datasets: Datasets;
  datasetsDir: string;
  command: TrainerCommand;
  frames: Pick<FrameLog, 'send'>;
  hub: HubAccess;
  limitBytes: number;
  version: string;
  logger: { info(fields: object, text: string): void };
}): Imports {
  const { datasets, datasetsDir, command, hub, limitBytes, version } = options;
  const entries = createImportEntries(options.frames, options.logger);
  const { find, change, fail, forget } = entries;

  const workOf = ({ paths, folder, controller }: ImportEntry) => ({
    command,
    paths,
    scratch: folder,
    limitBytes,
    signal: controller.signal,
  });

  function open(
    source: ImportSource,
    folder: string,
    paths: readonly string[],
    prepare: (entry: ImportEntry) => Promise<void> = async () => undefined,
  ): ImportEntry {
    const entry = entries.add(source, folder, paths);
    entry.work = propose(entry, null, () => prepare(entry));
    return entry;
  }

  async function propose(
    entry: ImportEntry,
    mapping: ImportMapping | null,
    prepare: () => Promise<void>,
  ): Promise<void> {
    const { record } = entry;
    try {
      await prepare();
      const proposal = await proposeImport(workOf(entry), mapping);
      change(record, {
        proposal,
        state: 'proposed',
        problems: [],
        totalProblems: 0,
        leftOut: [],
        error: null,
      });
    } catch (error) {
      fail(record, error);
    }
  }

  async function newFolder(): Promise<string> {
    const folder = join(datasetsDir, importPrefix + randomUUID());
    await mkdir(folder, { recursive: true });
    return folder;
  }

  async function fromFile(kind: ImportSource['kind'], name: string, path: string): Promise<ImportEntry> {
    const sizeBytes = await checkSourceFile(path, kind === 'dataset' ? 'dataset' : 'path');
    const entry = open({ kind, name, sizeBytes }, await newFolder(), [path]);
    await entry.work;
    return entry;
  }

  /** Downloads the files of a split, with progress. */
  async function download(entry: ImportEntry, repo: string, files: readonly HubDatasetFile[]): Promise<void> {
    const { record, controller, folder, paths } = entry;
    let toldAt = 0;
    await mkdir(folder, { recursive: true });
    await downloadFiles(hub, { repo, files, paths, signal: controller.signal }, (bytes) => {
      record.progress.doneBytes += bytes;
      if (performance.now() - toldAt < progressIntervalMs) return;
      toldAt = performance.now();
      change(record, {});
    });
  }

  /** The folder of a download with what an earlier one left; another while an import has it. */
  function hubFolder(name: string | null): string {
    const folder = join(datasetsDir, name ?? importPrefix + randomUUID());
    const other = entries.list().find((entry) => entry.folder === folder);
    if (other === undefined) return folder;
    if (other.record.state !== 'completed' && !isUnreadable(other.record)) return hubFolder(null);
    void forget(other, true);
    return folder;
  }

  async function run(
    entry: ImportEntry,
    { mapping, name, skipInvalid }: StartOptions,
  ): Promise<Dataset | null> {
    const { record } = entry;
    try {
      const dataset = await runImport(workOf(entry), record, {
        mapping: mapping ?? record.proposal?.mapping ?? null,
        name,
        skipInvalid,
        version,
        datasets,
        onProgress: () => change(record, {}),
      });
      // First, so that nothing is left when its end is told. What cannot be deleted now is when the service starts.
      await rm(entry.folder, { recursive: true, force: true }).catch(() => undefined);
      change(record, { state: 'completed', dataset: dataset.name });
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

    async fromHub(wanted) {
      const { repo } = wanted;
      const files = await hubSplit(hub, wanted);
      const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
      if (sizeBytes > limitBytes) {
        throw refusalOf('hub', `"${repo}" has ${sizeBytes} bytes, more than the ${limitBytes} of an import`);
      }
      const name = downloadFolder(files);
      const kept = name === null ? [] : await keptBytes(files, pathsIn(join(datasetsDir, name), files));
      await checkRoom(datasetsDir, sizeBytes - kept.reduce((sum, bytes) => sum + bytes, 0));
      const source: ImportSource = { kind: 'hub', name: repo, sizeBytes };
      const folder = hubFolder(name);
      return open(source, folder, pathsIn(folder, files), (entry) => download(entry, repo, files)).record;
    },

    list: () => entries.list().map(({ record }) => record),
    get: (id) => find(id).record,

    async preview(id, mapping) {
      const entry = find(id);
      const { record } = entry;
      const { proposal } = record;
      refuseUnready(entry);
      if (mapping !== null) checkMapping(mapping, proposal?.columns ?? []);
      record.state = 'reading';
      entry.work = propose(entry, mapping, async () => undefined);
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
      if (startOptions.mapping === null && record.proposal?.guessed) {
        throw refusalOf('mapping', `The columns are guessed from their values; ${askFor(mapping)}`);
      }
      const running = entries.list().filter(({ record: { state } }) => state === 'running').length;
      if (running >= runningAtOnce) {
        throw new AppError(
          'unavailable',
          `${running} imports are running, which is the most at once. Try again when one of them has ended.`,
          { details: { retryAfterSeconds } },
        );
      }
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
      // A download goes on when it is asked for again.
      const isDownload = ({ record }: ImportEntry) =>
        record.source.kind === 'hub' && record.proposal === null;
      await Promise.all(entries.list().map((entry) => forget(entry, isDownload(entry))));
    },
  };
  return imports;

  function refuseUnready({ record }: ImportEntry): void {
    const { id, state, proposal } = record;
    if (proposal !== null && (state === 'proposed' || state === 'failed')) return;
    const why = isUnreadable(record)
      ? `cannot be read: ${record.error}`
      : `is ${state === 'reading' ? 'being read' : state}`;
    throw new AppError('conflict', `The import ${id} ${why}.`);
  }
}
