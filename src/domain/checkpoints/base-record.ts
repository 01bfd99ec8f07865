import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asAppError } from '../../errors.ts';
import { askBase, baseNoteName } from '../../trainer/checkpoint.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';
import type { Model, Models } from '../models/models.ts';
import type { Preparing } from './preparing.ts';
import { readBaseNote } from './shared-bases.ts';

/**
 * Makes what records the bases of models that earlier versions trained, where their jobs still tell them.
 * @returns a function that returns why a model has no record, or `null` if it has one.
 */
export function createBaseRecord(options: {
  readonly models: Models;
  readonly preparing: Preparing;
  readonly folderOf: (job: { id: number }) => string;
  readonly command: TrainerCommand;
  readonly closing: AbortSignal;
}): (model: Model) => Promise<string | null> {
  const { models, preparing, folderOf, command, closing: signal } = options;
  /** Why models have none for good, by their IDs; it takes seconds to find out. */
  const reasons = new Map<string, string>();

  async function derive(model: Model, folder: string, templatePath: string): Promise<string | null> {
    try {
      const trainedAt = new Date(model.createdAt);
      const note = await askBase(command, folder, { templatePath, trainedAt, signal });
      const path = join(model.path, baseNoteName);
      await writeFile(`${path}.partial`, JSON.stringify(note));
      await rename(`${path}.partial`, path);
      return null;
    } catch (error) {
      const { message, details } = asAppError(error);
      if (details.code === 'bad_model') reasons.set(model.modelId, message);
      return message;
    }
  }

  return async (model) => {
    const known = reasons.get(model.modelId);
    if (known !== undefined) return known;
    if ((await readBaseNote(model.path)) !== null) return null;
    const folder = model.jobId === null ? null : folderOf({ id: model.jobId });
    const templatePath = models.fileOf(model, 'template');
    if (folder === null || templatePath === null || !existsSync(join(folder, 'spec.json')))
      return 'Its training was deleted. Train it again.';
    let reason: string | null = null;
    await preparing.inTurn({ kind: 'record', name: model.name }, async () => {
      if ((await readBaseNote(model.path)) === null) reason = await derive(model, folder, templatePath);
    });
    return reason;
  };
}
