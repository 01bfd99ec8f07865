import { readModelJson } from './model-file.ts';

/** The weights in one file, and the list of several files (trainer/model/view.py). */
const single = 'model.safetensors';
const index = 'model.safetensors.index.json';
const shard = /-\d+-of-\d+\.safetensors$/;

/** The files that the index of a folder's weights names; `null` if there is none, or none that can be read. */
export async function indexedWeights(folder: string): Promise<readonly string[] | null> {
  const content = (await readModelJson(folder, index).catch(() => null)) as { weight_map?: unknown } | null;
  const map = content?.weight_map;
  if (typeof map !== 'object' || map === null) return null;
  return [...new Set(Object.values(map))].filter((name) => typeof name === 'string').sort();
}

/** Those of a model's files that its weights are loaded from; others may be a second copy, or an adapter. */
export const loadedWeights = (files: readonly string[], indexed: readonly string[] | null): string[] =>
  files.filter((name) => (indexed === null ? name === single : indexed.includes(name)));

/** The weights of an adapter. */
export const adapterWeights = 'adapter_model.safetensors';

/** Whether there are a model's own weights. */
export const hasWeights = (files: readonly string[]): boolean =>
  files.includes(single) || files.includes(index);

/** Whether an adapter lies beside a model's weights; it is not loaded, and merged only when a request asks for it. */
export const hasAdapter = (files: readonly string[]): boolean => files.includes('adapter_config.json');

/**
 * Why a model with these files has no weights that can be loaded, as `check_weights` in trainer/model/check.py says;
 * `null` if it has them.
 * @param indexed the files that its index names; `null` if that is not known.
 */
export function whyNoWeights(
  model: string,
  files: readonly string[],
  indexed: readonly string[] | null,
): string | null {
  const missing = indexed?.filter((name) => !files.includes(name)) ?? [];
  if (indexed !== null && missing.length > 0) {
    const some = missing.slice(0, 3).join(', ');
    return `${missing.length} of ${indexed.length} weight files of ${model} are missing: ${some}${missing.length > 3 ? ', …' : ''}. Download it again, or put them into its folder`;
  }
  if (hasWeights(files)) return null;
  const weights = files.filter((name) => name.endsWith('.safetensors'));
  if (hasAdapter(files) && weights.every((name) => name === adapterWeights))
    return `${model} is an adapter (LoRA), not a model: it has no weights of its own. With merge_adapter, an adapter in a folder is merged into its base first. Or name its base model (base_model_name_or_path in adapter_config.json)`;
  const own = weights.find((name) => name.startsWith('consolidated'));
  if (own !== undefined)
    return `${model} has its weights only as ${own}, in Mistral's own format with other names. Take the files model*.safetensors of the same model, which most repositories have beside it`;
  if (weights.some((name) => shard.test(name)))
    return `${model} has ${weights.length} weight files and no ${index}, which says what is in which. Add ${index} of the same model to its folder`;
  if (weights.length > 0)
    return `${model} has its weights in ${weights[0]}, and transformers looks for ${single}. Rename it if it has all of them`;
  return `${model} has no .safetensors weights. Pickled weights (.bin, .pt) are not accepted because they can run code`;
}
