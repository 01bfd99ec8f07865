import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError, asAppError } from '../../../errors.ts';
import { refusalOf } from '../../../faults.ts';
import type { HubAccess } from '../../../hub/access.ts';
import { type HubDataset, type HubDatasetFile, readHubDataset } from '../../../hub/dataset-files.ts';
import { hubFileBytes } from '../../../hub/download-file.ts';
import type { ImportMapping } from '../../../trainer/import-rows.ts';
import type { TrainerCommand } from '../../../trainer/supervisor.ts';
import { isHubId } from '../../base-models/base-model.ts';
import type { FrameLog } from '../../events/frame-log.ts';
import { checkRoom } from '../../machine/disk-room.ts';
import { checkDatasetFile } from '../dataset-file.ts';
import { datasetName } from '../dataset-name.ts';
import type { Dataset, Datasets } from '../datasets.ts';
import { receiveFile } from '../receive-file.ts';
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

/** A dataset of the hub; `null` for its only or usual configuration or split, and its newest revision. */
export interface HubWanted {
  readonly repo: string;
  readonly config: string | null;
  readonly split: string | null;
  readonly revision: string | null;
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
  const { datasets, datasetsDir, command, frames, hub, limitBytes, version, logger } = options;
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

  function open(
    source: ImportSource,
    folder: string,
    paths: readonly string[],
    prepare: (entry: Entry) => Promise<void> = async () => undefined,
  ): Entry {
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
    entry.work = propose(entry, null, () => prepare(entry));
    return entry;
  }

  async function propose(
    entry: Entry,
    mapping: ImportMapping | null,
    prepare: () => Promise<void>,
  ): Promise<void> {
    const { record } = entry;
    try {
      await prepare();
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
    const entry = open({ kind, name, sizeBytes }, await newFolder(), [path]);
    await entry.work;
    return entry;
  }

  /** Downloads the files of a split, with progress. */
  async function download(entry: Entry, repo: string, files: readonly HubDatasetFile[]): Promise<void> {
    const { record, controller } = entry;
    let toldAt = 0;
    async function* counted(file: HubDatasetFile) {
      for await (const piece of hubFileBytes(hub, repo, file, controller.signal)) {
        record.progress.doneBytes += piece.length;
        yield piece;
        if (performance.now() - toldAt < progressIntervalMs) continue;
        toldAt = performance.now();
        tell(record);
      }
    }
    for (const [place, file] of files.entries()) {
      await receiveFile(datasetsDir, entry.paths[place] as string, counted(file));
    }
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
    hubDataset: (repo) => readHubDataset(hub, checkedRepo(repo), null),

    async fromHub({ repo, config, split, revision }) {
      const dataset = await readHubDataset(hub, checkedRepo(repo), revision);
      const ofConfig = choose(dataset.configs, config, 'config', 'default', repo);
      const { files } = choose(ofConfig.splits, split, 'split', 'train', repo);
      const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
      if (sizeBytes > limitBytes) {
        throw refusalOf('hub', `"${repo}" has ${sizeBytes} bytes, more than the ${limitBytes} of an import`);
      }
      await checkRoom(datasetsDir, sizeBytes);
      const folder = await newFolder();
      const paths = files.map((_, place) => join(folder, `${String(place).padStart(5, '0')}.parquet`));
      const source: ImportSource = { kind: 'hub', name: repo, sizeBytes };
      return open(source, folder, paths, (entry) => download(entry, repo, files)).record;
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

function checkedRepo(repo: string): string {
  if (isHubId(repo)) return repo;
  throw refusalOf('repo', `"${repo.slice(0, 200)}" is not the name of a dataset on the hub (owner/name)`);
}

/** The configuration or split of this name; without one, the only or the usual one. @throws AppError `invalid`. */
function choose<T extends { readonly name: string }>(
  all: readonly T[],
  wanted: string | null,
  what: string,
  usual: string,
  repo: string,
): T {
  const found = all.find(({ name }) => name === (wanted ?? usual));
  if (found !== undefined) return found;
  if (wanted === null && all.length === 1) return all[0] as T;
  const names = all.map(({ name }) => name).join(', ');
  throw refusalOf(what, `"${repo}" needs one of its ${what}s: ${names.slice(0, 500)}`);
}
