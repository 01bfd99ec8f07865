import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { unfinishedStates } from '../../contract/jobs.ts';
import { bytesPerParameter } from '../../contract/models/bytes-per-parameter.ts';
import type { Store } from '../../db/store.ts';
import { AppError, asAppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import { cacheFolder, findCached, sharedCache } from '../../hub/cached-model.ts';
import { downloadModel } from '../../trainer/download-model.ts';
import { downloadSecrets, type TrainerCommand } from '../../trainer/processes/supervisor.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { jobName } from '../job-record/job.ts';
import { checkRoom } from '../machine/disk-room.ts';
import { locateModel } from './base-model.ts';
import type { SizeOf } from './model-size.ts';
import type { Selection } from './selection.ts';

/** A download of a base model, since the start of the service. */
export interface ModelDownload {
  readonly id: string;
  readonly model: string;
  readonly state: 'running' | 'completed' | 'failed';
  /** 0 to 1; 0 while the total is not known. */
  readonly progress: number;
  readonly doneBytes: number;
  /** Of how many bytes; `null` until the sizes of all files are known. */
  readonly totalBytes: number | null;
  readonly error: string | null;
}

/** The models of the hub in the shared cache: downloaded ahead of a training, and deleted. */
export interface HubModels {
  /** Newest first; those that have ended are forgotten after a while. */
  downloads(): ModelDownload[];
  /**
   * Downloads a model, or tells of its download that is going.
   * @throws AppError `invalid` for a name that is none of the hub's or a model that cannot be trained; `forbidden` or
   *   `upstream` as the hub answers; `disk_full`; `conflict` when it is here, or when too many are downloaded.
   */
  download(model: string): Promise<ModelDownload>;
  /** Cancels a download and forgets it; what it left of the model is deleted. @throws AppError `not_found`. */
  cancel(id: string): Promise<void>;
  /** Deletes a model. @throws AppError `not_found`, or `conflict` while it is used or downloaded. */
  remove(model: string): Promise<void>;
  close(): Promise<void>;
}

const mostAtOnce = 3;
const keptDownloads = 20;
const frameIntervalMs = 500;

interface Entry {
  download: ModelDownload;
  readonly controller: AbortController;
  work: Promise<unknown>;
}

const isRunning = ({ download }: Entry) => download.state === 'running';

const beginning = (model: string): Entry => ({
  download: {
    id: randomUUID(),
    model,
    state: 'running',
    progress: 0,
    doneBytes: 0,
    totalBytes: null,
    error: null,
  },
  controller: new AbortController(),
  work: Promise.resolve(),
});

/** Forgets the earlier downloads of a model, and the oldest that have ended. */
function makeRoom(entries: Map<string, Entry>, model: string): void {
  for (const [id, entry] of entries) {
    if (!isRunning(entry) && (entry.download.model === model || entries.size >= keptDownloads))
      entries.delete(id);
  }
}

/** The name of a model of the hub. @throws AppError `invalid` for anything else. */
function nameOf(model: string): string {
  const { name, path } = locateModel(model);
  if (path !== null) throw refusalOf('model', `"${model.slice(0, 200)}" is no model of the hub (owner/name)`);
  return name;
}

export function createHubModels(options: {
  readonly store: Store;
  readonly frames: Pick<FrameLog, 'send'>;
  readonly selection: Pick<Selection, 'checkModel'>;
  readonly sizeOf: SizeOf;
  readonly command: TrainerCommand;
  readonly hub: { readonly token: string | null };
  readonly logger: { info(fields: object, text: string): void };
}): HubModels {
  const { store, frames, selection, sizeOf, command, hub, logger } = options;
  const entries = new Map<string, Entry>();
  const runningOf = (model: string) =>
    [...entries.values()].find((entry) => isRunning(entry) && entry.download.model === model);

  function change(entry: Entry, fields: Partial<ModelDownload>): void {
    entry.download = { ...entry.download, ...fields };
    const { doneBytes: done_bytes, totalBytes: total_bytes, ...told } = entry.download;
    frames.send('download', null, { ...told, done_bytes, total_bytes });
  }

  async function run(entry: Entry): Promise<void> {
    const { controller, download } = entry;
    let toldAt = 0;
    try {
      await downloadModel(command, download.model, {
        secrets: downloadSecrets(command, hub.token),
        signal: controller.signal,
        onProgress: (progress, bytes) => {
          const [doneBytes, totalBytes] = bytes ?? [0, null];
          entry.download = { ...entry.download, progress, doneBytes, totalBytes };
          if (performance.now() - toldAt < frameIntervalMs) return;
          toldAt = performance.now();
          change(entry, {});
        },
      });
      change(entry, { state: 'completed', progress: 1 });
    } catch (thrown) {
      if (controller.signal.aborted) return;
      const { message } = asAppError(thrown);
      change(entry, { state: 'failed', error: message });
      logger.info({ model: download.model, error: message }, 'A download failed');
    }
  }

  /** The unfinished run that uses a model. */
  const userOf = (model: string) =>
    store.jobs.inStates(unfinishedStates).find(({ modelName }) => modelName === model);

  return {
    downloads: () => [...entries.values()].map(({ download }) => download).reverse(),

    async download(asked) {
      const model = nameOf(asked);
      const going = runningOf(model);
      if (going !== undefined) return going.download;
      await selection.checkModel(model);
      if ((await findCached(model)) !== null) throw new AppError('conflict', `${model} is on this machine.`);
      const { parameters } = await sizeOf(model);
      await checkRoom(await sharedCache(), (parameters ?? 0) * bytesPerParameter);
      const other = runningOf(model);
      if (other !== undefined) return other.download;
      if ([...entries.values()].filter(isRunning).length >= mostAtOnce) {
        throw new AppError('conflict', `${mostAtOnce} models are downloaded. Wait for one, or cancel it.`);
      }
      makeRoom(entries, model);
      const entry = beginning(model);
      entries.set(entry.download.id, entry);
      change(entry, {});
      entry.work = run(entry);
      return entry.download;
    },

    async cancel(id) {
      const entry = entries.get(id);
      if (entry === undefined) {
        throw new AppError(
          'not_found',
          `There is no download "${id.slice(0, 100)}". Downloads end with the service.`,
        );
      }
      const wasRunning = isRunning(entry);
      entries.delete(id);
      entry.controller.abort();
      await entry.work;
      const { model } = entry.download;
      // A run may be downloading the same.
      if (wasRunning && userOf(model) === undefined && (await findCached(model)) === null)
        await rm(await cacheFolder(model), { recursive: true, force: true });
      if (wasRunning) change(entry, { state: 'failed', error: 'The download was cancelled.' });
    },

    async remove(asked) {
      const model = nameOf(asked);
      const folder = await cacheFolder(model);
      if (!existsSync(folder)) throw new AppError('not_found', `${model} is not in the hub cache.`);
      if (runningOf(model) !== undefined) {
        throw new AppError('conflict', `${model} is being downloaded. Cancel the download first.`);
      }
      const job = userOf(model);
      if (job !== undefined) {
        throw new AppError('conflict', `${model} is used by the run ${jobName(job.id)}. Stop it first.`);
      }
      await rm(folder, { recursive: true, force: true });
    },

    async close() {
      const all = [...entries.values()];
      for (const { controller } of all) controller.abort();
      await Promise.all(all.map(({ work }) => work));
    },
  };
}
