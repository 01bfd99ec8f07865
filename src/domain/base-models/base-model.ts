import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { createFaults, refusalOf } from '../../faults.ts';
import { ggufFolder } from '../../trainer/gguf-folder.ts';
import type { AdapterBase } from '../../trainer/merged-folder.ts';
import type { Parent } from '../../trainer/protocol.ts';
import { linksOutOf, readModelJson } from './files/model-file.ts';
import { isNetworkPath, networkPathRefusal } from './files/network-path.ts';
import { UnreadableFile } from './files/small-json.ts';
import { hasTokenizer, tokenizerRefusal } from './files/tokenizer-files.ts';
import { hasAdapter, indexedWeights, whyNoWeights } from './files/weight-files.ts';
import { checkGgufBase, isGgufPath } from './gguf/gguf-base.ts';
import { kindOf, type ModelKind } from './gguf/gguf-verdict.ts';

/**
 * The location of a base model: a hub ID, or a local folder, which may be still to be made of a GGUF file, or of an
 * adapter and its own base.
 */
export interface BaseModel {
  readonly name: string;
  readonly path: string | null;
  readonly gguf?: string;
  readonly adapter?: AdapterBase;
  /** The model of Hone that a training goes on from, if it does. */
  readonly parent?: Parent;
}

/** Hub ids: `owner/name`, each of letters, digits and `._-` (huggingface_hub, `validate_repo_id`). */
const hubId = /^[A-Za-z0-9](?:[\w.-]{0,94}[A-Za-z0-9_])?\/[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?$/;

/** Runs with their checkpoints, and models by their UUID. */
const trainedHere = /^train_\d+(?:@\w+)?$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text is a valid hub ID. */
export const isHubId = (text: string): boolean =>
  hubId.test(text) && !text.includes('--') && !text.includes('..');

function refuse(msg: string): never {
  throw refusalOf('model_name', msg);
}

/** Distinguishes a folder from a hub ID: a folder is absolute or starts with `.` or `~`. */
export function locateModel(reference: string): BaseModel {
  if (reference.includes('\0')) refuse('model_name must not contain a NUL character');
  if (isNetworkPath(reference)) refuse(networkPathRefusal(reference));
  if (reference.startsWith('~/')) return localModel(reference, join(homedir(), reference.slice(2)));
  if (isAbsolute(reference) || /^\.{1,2}[/\\]/.test(reference))
    return localModel(reference, resolve(reference));
  if (trainedHere.test(reference)) {
    refuse(`There is no model ${reference} here: it was deleted, or its run has none`);
  }
  if (!isHubId(reference)) {
    refuse(
      `"${reference.slice(0, 200)}" is neither a hub ID (owner/name) nor the path of a local folder, and no model that was trained here has this name`,
    );
  }
  return { name: reference, path: null };
}

function localModel(name: string, path: string): BaseModel {
  if (!isGgufPath(path)) return { name, path };
  return { name, path: ggufFolder(path) ?? path, gguf: path };
}

/**
 * Checks a local model as `checkLocalModel`, or what it is made of: a GGUF file, or the base of an adapter, which may have
 * a tokenizer of its own. `null` for a model of the hub.
 */
export async function checkBase({ path, gguf, adapter }: BaseModel): Promise<ModelKind | null> {
  if (gguf !== undefined) return checkGgufBase(gguf);
  if (adapter !== undefined) {
    if (adapter.base_path === null) return null;
    return checkLocalModel(adapter.base_path, hasTokenizer(await readdir(adapter.path)));
  }
  return path === null ? null : checkLocalModel(path);
}

/**
 * Checks a local model before a job is created: it needs a configuration, a tokenizer and safetensors weights.
 * `whyUnusable` says what else there may be against it.
 * @throws AppError `invalid` with all errors.
 */
export async function checkLocalModel(path: string, needsNoTokenizer = false): Promise<ModelKind> {
  await refuseNoFolder(path);
  const leaving = await linksOutOf(path);
  if (leaving.length > 0) {
    refuse(
      `${path} has links to files outside of it: ${leaving.slice(0, 3).join(', ')}. Put the files themselves in their place`,
    );
  }
  const config = await readConfig(path);
  const faults = createFaults();
  const files = await readdir(path);
  if (!needsNoTokenizer && !hasTokenizer(files)) faults.add('model_name', tokenizerRefusal(path));
  const noWeights = whyNoWeights(path, files, await indexedWeights(path));
  if (noWeights !== null) faults.add('model_name', noWeights);
  const kind = kindOf(config);
  if (kind.architecture === null)
    faults.add('model_name', `${path} is not a model: its config.json names no architecture`);
  faults.raise();
  return kind;
}

/** What a folder without a config.json is instead. */
async function whyNoConfig(path: string): Promise<string> {
  const files = await readdir(path);
  if (hasAdapter(files)) {
    return 'is an adapter (LoRA), which has no config.json. With merge_adapter, it is merged into its base first. Or name its base model (base_model_name_or_path in adapter_config.json)';
  }
  if (files.includes('template.json')) {
    return 'is a model that was trained here, which has no config.json. Name the model itself (its name or model_id)';
  }
  return 'has no config.json';
}

/** @throws AppError `invalid` unless there is a folder. */
export async function refuseNoFolder(path: string): Promise<void> {
  const folder = await stat(path).catch(() => null);
  if (folder === null) refuse(`The folder ${path} does not exist`);
  if (!folder.isDirectory()) refuse(`${path} is a file, not a model folder`);
}

async function readConfig(path: string): Promise<Record<string, unknown>> {
  let config: unknown;
  try {
    config = await readModelJson(path, 'config.json');
  } catch (error) {
    const found =
      (error as NodeJS.ErrnoException).code === 'ENOENT'
        ? await whyNoConfig(path)
        : error instanceof UnreadableFile
          ? `has a config.json that ${error.message}`
          : 'has a config.json that is not JSON';
    refuse(`${path} is not a model: it ${found}`);
  }
  if (typeof config !== 'object' || config === null)
    refuse(`${path} is not a model: its config.json is not an object`);
  return config as Record<string, unknown>;
}
