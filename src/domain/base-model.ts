import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { AppError } from '../errors.ts';

/** Where a base model is: on the hub by its id, or in a folder of this machine. */
export type BaseModel = { readonly name: string; readonly path: string | null };

/** Hub ids: `owner/name`, each of letters, digits and `._-` (huggingface_hub, `validate_repo_id`). */
const hubId = /^[A-Za-z0-9](?:[\w.-]{0,94}[A-Za-z0-9_])?\/[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?$/;

/** Whether a text can name a repository on the hub. */
export const isHubId = (text: string): boolean =>
  hubId.test(text) && !text.includes('--') && !text.includes('..');

function refuse(msg: string): never {
  throw new AppError('invalid', msg, { issues: [{ loc: ['body', 'model_name'], msg, type: 'value_error' }] });
}

/** Tells a folder from a hub id: a folder is absolute or begins with `.` or `~`. */
export function locateModel(reference: string): BaseModel {
  if (reference.includes('\0')) refuse('model_name must not contain a NUL character');
  if (reference.startsWith('~/')) return { name: reference, path: join(homedir(), reference.slice(2)) };
  if (isAbsolute(reference) || /^\.{1,2}[/\\]/.test(reference))
    return { name: reference, path: resolve(reference) };
  if (!isHubId(reference)) {
    refuse(`"${reference.slice(0, 200)}" is neither a hub id (owner/name) nor the path of a local folder`);
  }
  return { name: reference, path: null };
}

/**
 * Looks at a local model before a job is made of it: a folder with a configuration, weights as safetensors
 * and no code of its own, of an architecture that can be exported (when an export is wanted).
 * @throws AppError `invalid` that says what is missing.
 */
export async function checkLocalModel(
  path: string,
  exportArchitectures: readonly string[] | null,
): Promise<void> {
  const folder = await stat(path).catch(() => null);
  if (folder === null) refuse(`There is no folder ${path}`);
  if (!folder.isDirectory()) refuse(`${path} is not a folder with a model but a file`);
  let config: { architectures?: unknown; auto_map?: unknown };
  try {
    config = JSON.parse(await readFile(join(path, 'config.json'), 'utf8')) as typeof config;
  } catch (error) {
    const found =
      (error as NodeJS.ErrnoException).code === 'ENOENT'
        ? 'has no config.json'
        : 'has a config.json that is not JSON';
    refuse(`${path} is no model: it ${found}`);
  }
  if (typeof config !== 'object' || config === null)
    refuse(`${path} is no model: its config.json is not an object`);
  if (config.auto_map) {
    refuse(
      `${path} brings its own Python code (auto_map in config.json), which Hone never runs. Choose a model of an architecture that the training library has`,
    );
  }
  const files = await readdir(path);
  if (!files.some((name) => name.endsWith('.safetensors'))) {
    refuse(
      `${path} has no weights as .safetensors. Weights in pickle files (.bin, .pt) are refused, since they can run code`,
    );
  }
  const architecture = Array.isArray(config.architectures) ? String(config.architectures[0] ?? '') : '';
  if (architecture === '') refuse(`${path} is no model: its config.json names no architecture`);
  if (
    exportArchitectures !== null &&
    exportArchitectures.length > 0 &&
    !exportArchitectures.includes(architecture)
  ) {
    refuse(
      `llama.cpp cannot run the architecture ${architecture}, so there would be no GGUF file. Set "export": "none" to train without it, or choose another model`,
    );
  }
}
