import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../src/db/store.ts';
import { root } from './folders.ts';
import { type StoredModel, storeModel } from './stored-model.ts';

/**
 * Stores a model with the folder of its adapter, without an adapter as GGUF.
 * @param files the texts of the files in that folder, by their names.
 */
export function storeWithAdapter(
  dataDir: string,
  name: string,
  baseModel: string,
  files: Readonly<Record<string, string>>,
): StoredModel {
  const stored = storeModel(dataDir, name, { adapter: 1, baseModel });
  const folder = join(stored.path, 'adapter');
  mkdirSync(folder);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const model = store.models.byModelId(stored.modelId);
  if (model === null) throw new Error(`${name} was not stored`);
  const adapter = { kind: 'adapter', path: 'adapter', bytes: 1, quantization: null };
  const artifacts = [...model.artifacts.filter(({ kind }) => kind !== 'adapter_gguf'), adapter];
  store.models.setFiles(model.id, { ...model, artifacts });
  store.close();
  return stored;
}
