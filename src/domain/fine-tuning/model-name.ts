import { basename } from 'node:path';
import { locateModel } from '../base-models/base-model.ts';

/** Characters of a model's ID in its name: as many as OpenAI has. */
const idCharacters = 8;

/**
 * The name of a fine-tuned model, as OpenAI forms it: `ft:<base>:hone:<suffix>:<id>`.
 * @param base a hub ID, or a folder, of which only the last part is shown.
 * @param suffix runs of characters that such a name cannot have become a hyphen.
 */
export function fineTunedName(base: string, suffix: string | null, modelId: string): string {
  const { name, path, gguf } = locateModel(base);
  const shown = (path === null ? name : basename(gguf ?? path)).replace(/[:\s]+/g, '-');
  return ['ft', shown, 'hone', plain(suffix ?? ''), modelId.slice(0, idCharacters)].join(':');
}

const plain = (suffix: string) =>
  suffix
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^-+|-+$/g, '');

/** The name of a checkpoint of a model. */
export const checkpointName = (modelName: string, step: number): string => `${modelName}:ckpt-step-${step}`;

/** A name as that of a checkpoint, or `null`. */
export function readCheckpointName(name: string): { readonly model: string; readonly step: number } | null {
  const found = /^(.+):ckpt-step-(\d{1,9})$/.exec(name);
  return found === null ? null : { model: found[1] as string, step: Number(found[2]) };
}
