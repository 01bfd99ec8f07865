import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unfinishedStates } from '../../contract/jobs.ts';
import type { Store } from '../../db/store.ts';
import { prepareCheckpoint } from '../../trainer/checkpoint.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';
import type { Model, Models } from '../models/models.ts';
import type { Preparing } from './preparing.ts';
import { readBaseNote, type SharedBases } from './shared-bases.ts';

/** Makes the files of bases that several models share, in the background. */
export interface BaseSharing {
  /** Begins to make the file of a model's base, where several models would share it and no training runs. */
  share(model: Model): void;
  /** Ends the one that is being made, which is not tried again before the next start. @returns whether there was one. */
  stop(): Promise<boolean>;
  /** Ends one that is being made in the folder of a job. */
  release(jobId: number): Promise<void>;
}

export function createBaseSharing(options: {
  readonly store: Store;
  readonly models: Models;
  readonly bases: SharedBases;
  readonly preparing: Preparing;
  readonly folderOf: (job: { id: number }) => string;
  readonly command: TrainerCommand;
  readonly closing: AbortSignal;
  readonly logger: { warn(fields: object, message: string): void };
}): BaseSharing {
  const { store, models, bases, preparing, folderOf, command, closing, logger } = options;
  /** Files that are being made, could not be, or are not wanted. */
  const begun = new Set<string>();
  let making: { jobId: number; file: string; stop: AbortController; done: Promise<void> } | null = null;

  async function share(model: Model): Promise<void> {
    const note = await readBaseNote(model.path);
    if (note === null || begun.has(note.file) || bases.fileOf(note) !== null) return;
    if (store.jobs.inStates(unfinishedStates).length > 0) return;
    begun.add(note.file);
    const sharing = await bases.modelsOf(note, model);
    const found = sharing.find(
      ({ jobId }) => jobId !== null && existsSync(join(folderOf({ id: jobId }), 'spec.json')),
    );
    const source = found && store.models.byId(found.id);
    const templatePath = source && models.fileOf(source, 'template');
    if (sharing.length < 2 || !source?.jobId || !templatePath) {
      begun.delete(note.file);
      return;
    }
    const jobId = source.jobId;
    const done: Promise<void> = preparing.inTurn(
      { kind: 'base', name: model.baseModel },
      async (onProgress) => {
        const stop = new AbortController();
        const signal = AbortSignal.any([stop.signal, closing]);
        making = { jobId, file: note.file, stop, done };
        const asked = { step: null, templatePath, basesDir: bases.dir, named: note.file, signal, onProgress };
        try {
          await prepareCheckpoint(command, folderOf({ id: jobId }), asked);
          begun.delete(note.file);
        } catch (error) {
          if (!signal.aborted) logger.warn({ error }, 'No file for the base model that several models share');
        } finally {
          making = null;
        }
      },
    );
    await done;
  }

  async function end(): Promise<void> {
    making?.stop.abort();
    await making?.done;
  }

  return {
    share(model) {
      share(model).catch((error: unknown) => {
        if (!closing.aborted) logger.warn({ error }, 'No file for the base model that several models share');
      });
    },
    async stop() {
      if (making === null) return false;
      await end();
      return true;
    },
    async release(jobId) {
      if (making?.jobId !== jobId) return;
      const { file } = making;
      await end();
      // Another model's job may make it.
      begun.delete(file);
    },
  };
}
