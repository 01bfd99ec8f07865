import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { refusalOf } from '../../faults.ts';
import { type AdapterBase, mergedFolder } from '../../trainer/merged-folder.ts';
import { type BaseModel, isHubId, locateModel, refuseNoFolder } from './base-model.ts';
import { linksOutOf, modelFile, readModelJson } from './files/model-file.ts';
import { isNetworkPath, networkPathRefusal } from './files/network-path.ts';
import { adapterWeights, hasAdapter, hasWeights } from './files/weight-files.ts';
import { isGgufPath } from './gguf/gguf-base.ts';
import { tensorNames } from './model-shape.ts';

/** Where the adapter that can be merged into a base model is. */
export type AdapterPlace = 'alone' | 'beside';

/** Locates a base model; with `merges`, what becomes of the adapter that it is, or that lies beside its weights. */
export async function locateBase(reference: string, merges: boolean): Promise<BaseModel> {
  const base = locateModel(reference);
  return merges ? withAdapter(base) : base;
}

/** Where a base model's adapter is: in a folder alone, or beside weights; `null` if it has none that could be merged. */
export async function adapterPlace({ path, gguf }: BaseModel): Promise<AdapterPlace | null> {
  if (path === null || gguf !== undefined) return null;
  const files = await readdir(path).catch(() => []);
  if (!hasAdapter(files)) return null;
  return hasWeights(files) ? 'beside' : 'alone';
}

/** Refuses what cannot be merged. */
function refuse(msg: string): never {
  throw refusalOf('merge_adapter', msg);
}

/**
 * A base model with its adapter, in the folder that a run makes of them.
 * @throws AppError `invalid` unless there is an adapter that can be merged, and its base.
 */
export async function withAdapter({ name, path, gguf }: BaseModel): Promise<BaseModel> {
  if (gguf !== undefined) refuse(`There is no adapter to merge: ${name} is a GGUF file`);
  if (path === null) {
    refuse(
      `merge_adapter takes the folder of an adapter on this machine, and ${name} is a model of the hub. If it is an adapter, download it into a folder (hf download ${name} --local-dir FOLDER) and name that in model_name`,
    );
  }
  await refuseNoFolder(path);
  const files = await readdir(path);
  if (!hasAdapter(files)) refuse(`There is no adapter to merge: ${path} has no adapter_config.json`);
  if (!files.includes(adapterWeights)) {
    refuse(
      `The adapter in ${path} has no ${adapterWeights}. Pickled weights (adapter_model.bin) are not read, because they can run code; save it again with PEFT`,
    );
  }
  const leaving = await linksOutOf(path);
  if (leaving.length > 0) {
    refuse(
      `${path} has links to files outside of it: ${leaving.slice(0, 3).join(', ')}. Put the files themselves in their place`,
    );
  }
  const config = await readConfig(path);
  const why = whyNotMerged(config) ?? (await whyNoUpdate(path));
  if (why !== null) {
    refuse(
      `The adapter in ${path} cannot be merged here: ${why}. Merge it with PEFT (merge_and_unload, save_pretrained) and train the folder that this makes`,
    );
  }
  const base = hasWeights(files) ? { base: path, base_path: path } : await baseOf(path, config);
  const adapter: AdapterBase = { path, ...base };
  return { name, path: await mergedFolder(adapter), adapter };
}

async function readConfig(path: string): Promise<Readonly<Record<string, unknown>>> {
  const config = await readModelJson(path, 'adapter_config.json').catch(() => null);
  if (typeof config !== 'object' || config === null)
    refuse(`The adapter_config.json in ${path} cannot be read, or is not an object`);
  return config as Record<string, unknown>;
}

/** The folder or hub ID that an adapter names as its base. */
async function baseOf(
  path: string,
  { base_model_name_or_path: named, revision }: Readonly<Record<string, unknown>>,
): Promise<Pick<AdapterBase, 'base' | 'base_path'>> {
  const set =
    'Set base_model_name_or_path in its adapter_config.json to the folder or hub ID of the model that it was trained on';
  if (typeof named !== 'string' || named === '')
    refuse(`The adapter in ${path} does not name its base. ${set}`);
  if (isNetworkPath(named)) refuse(networkPathRefusal(named));
  const folder = named.startsWith('~/') ? join(homedir(), named.slice(2)) : named;
  if (isGgufPath(folder))
    refuse(
      `The adapter in ${path} has the GGUF file ${named} as its base, which it cannot be merged into. ${set}`,
    );
  if (!isAbsolute(folder)) {
    if (!isHubId(named))
      refuse(`The adapter in ${path} names its base ${named}, which is no full path. ${set}`);
    if (typeof revision === 'string' && revision !== 'main') {
      refuse(
        `The adapter in ${path} fits the revision ${revision} of ${named}. Download that into a folder, and set base_model_name_or_path in its adapter_config.json to it`,
      );
    }
    return { base: named, base_path: null };
  }
  const files = await readdir(folder).catch(() => null);
  if (files === null) refuse(`The base ${named} of the adapter in ${path} does not exist. ${set}`);
  if (hasAdapter(files) && !hasWeights(files))
    refuse(
      `The base ${named} of the adapter in ${path} is itself an adapter. Merge that one first, with PEFT. ${set}`,
    );
  return { base: folder, base_path: folder };
}

/** Kinds of LoRA that are more than an update of weights, as trainer/adapter_base/adapter.py. */
const otherKinds: Readonly<Record<string, string>> = {
  use_qalora: 'QALoRA',
  use_bdlora: 'BD-LoRA',
  lora_bias: 'biases of its own',
  alora_invocation_tokens: 'an activated adapter (aLoRA)',
  layer_replication: 'replicated layers',
  trainable_token_indices: 'trained tokens',
  megatron_config: 'Megatron’s layers',
  arrow_config: 'Arrow’s routing',
  monteclora_config: 'MonteCLoRA',
  velora_config: 'VeLoRA',
  kasa_config: 'KaSA',
};
/** Initializations that leave the base's weights as they are; others (PiSSA, OLoRA, …) are for changed ones. */
const plainStarts: readonly unknown[] = [undefined, null, true, false, 'gaussian', 'eva', 'orthogonal'];

function isSet(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** Why an adapter with this configuration cannot be merged; `null` if it can, as far as its configuration tells. */
export function whyNotMerged(config: Readonly<Record<string, unknown>>): string | null {
  const { peft_type: kind, init_lora_weights: start } = config;
  if (kind !== 'LORA') return `it is of the kind ${String(kind)}, and only LoRA can be`;
  const other = Object.keys(otherKinds).find((name) => isSet(config[name]));
  if (other !== undefined) return `it has ${otherKinds[other]}`;
  if (!plainStarts.includes(start))
    return `it was trained on changed weights (init_lora_weights is ${String(start)})`;
  return typeof config.lora_alpha === 'number' ? null : 'its configuration has no lora_alpha';
}

/** A factor of an update, or a tensor in place of the base's. */
const merged = /\.lora_[AB](?:\.default)?\.weight$|^(?!.*\.lora_)/;

/** Why an adapter's tensors cannot be merged; `null` if nothing is known against it. */
async function whyNoUpdate(path: string): Promise<string | null> {
  const names = await tensorNames(await modelFile(path, adapterWeights)).catch(() => null);
  if (names === null || names.length === 0) return `its ${adapterWeights} is damaged or empty`;
  const other = names.find((name) => !merged.test(name));
  return other === undefined ? null : `it has ${other}, which is not an update of a layer’s weight`;
}
