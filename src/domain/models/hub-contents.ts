import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError } from '../../errors.ts';
import type { HubAccess } from '../../hub/access.ts';
import { askForRepository } from '../../hub/model-info.ts';
import type { LocalFile } from '../../hub/push-files.ts';
import { locateModel } from '../base-models/base-model.ts';
import { writeCard } from './hub-card.ts';
import { parentIn } from './merged-base.ts';
import type { Model, Models } from './models.ts';

const publicHub = 'https://huggingface.co';

/**
 * All files of a model to push, and the model card, which is one of them.
 * @throws AppError `invalid` where files of it are gone.
 */
export async function contentsOf(
  models: Models,
  model: Model,
  repository: string,
  hub: HubAccess,
): Promise<{ files: LocalFile[]; card: string }> {
  const base = locateModel(model.baseModel);
  const parent = parentIn(model.config);
  const isMade = parent !== null && parent.how !== 'adapter';
  const baseName = isMade ? parent.name : base.path === null ? base.name : basename(base.gguf ?? base.path);
  const { files, taskType, baseClass } = await adapterFiles(
    models,
    model,
    base.path === null ? base.name : baseName,
  );
  const ggufs = model.artifacts.filter(({ kind }) => kind === 'gguf').map(({ path }) => path);
  for (const path of ggufs) files.push({ path: basename(path), content: { file: join(model.path, path) } });
  const vision = models.fileOf(model, 'mmproj');
  if (vision !== null) files.push({ path: basename(vision), content: { file: vision } });
  const modelfile = models.fileOf(model, 'modelfile');
  if (modelfile !== null) files.push({ path: 'Modelfile', content: { file: modelfile } });
  for (const { content } of files) {
    if ('file' in content && !existsSync(content.file)) throw gone(model, content.file);
  }
  const card = writeCard({
    model,
    repository,
    baseId: base.path === null ? base.name : null,
    baseName,
    license: base.path === null ? await licenseOf(hub, base.name) : null,
    taskType,
    baseClass,
    ggufs: ggufs.map((path) => basename(path)),
    vision: vision === null ? null : basename(vision),
    hasModelfile: modelfile !== null,
    onPublicHub: hub.endpoint === publicHub,
  });
  return { files: [...files, { path: 'README.md', content: { text: card } }], card };
}

/** The files of an adapter or a whole model and its tokenizer, as PEFT and transformers name them; no other file of its folder is pushed. */
const adapterFileNames: readonly string[] = [
  'adapter_config.json',
  'adapter_model.safetensors',
  'added_tokens.json',
  'chat_template.jinja',
  'config.json',
  'generation_config.json',
  'merges.txt',
  'model.safetensors',
  'sentencepiece.bpe.model',
  'special_tokens_map.json',
  'spiece.model',
  'spm.model',
  'tokenizer.json',
  'tokenizer.model',
  'tokenizer_config.json',
  'vocab.json',
  'vocab.txt',
];

/** The adapter's files, with a configuration that does not reveal local folders. */
async function adapterFiles(
  models: Models,
  model: Model,
  baseName: string,
): Promise<{ files: LocalFile[]; taskType: string | null; baseClass: string | null }> {
  const folder = models.fileOf(model, 'adapter');
  if (folder === null) throw new AppError('invalid', `The model ${model.name} has no adapter to push.`);
  try {
    const files: LocalFile[] = [];
    let taskType: string | null = null;
    let baseClass: string | null = null;
    for (const entry of (await readdir(folder, { withFileTypes: true })).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      if (!entry.isFile() || !adapterFileNames.includes(entry.name)) continue;
      const file = join(folder, entry.name);
      if (entry.name === 'config.json') {
        const config = JSON.parse(await readFile(file, 'utf8')) as { architectures?: unknown };
        const named = Array.isArray(config.architectures) ? config.architectures[0] : null;
        if (typeof named === 'string' && /^\w+$/.test(named)) baseClass = named;
      }
      if (entry.name !== 'adapter_config.json') {
        files.push({ path: entry.name, content: { file } });
        continue;
      }
      const config = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
      if (typeof config.task_type === 'string') taskType = config.task_type;
      const named = (config.auto_mapping as { base_model_class?: unknown } | null | undefined)
        ?.base_model_class;
      if (typeof named === 'string' && /^\w+$/.test(named)) baseClass = named;
      const text = `${JSON.stringify({ ...config, base_model_name_or_path: baseName }, null, 2)}\n`;
      files.push({ path: entry.name, content: { text } });
    }
    return { files, taskType, baseClass };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw gone(model, folder, error);
  }
}

const gone = (model: Model, path: string, cause?: unknown) =>
  new AppError(
    'invalid',
    `A file of the model ${model.name} is missing: ${path}. Restore it or delete the model.`,
    { cause },
  );

/** The license of a base model; if unknown, the card omits it. */
async function licenseOf(hub: HubAccess, baseModel: string): Promise<string | null> {
  try {
    return (await askForRepository(hub, baseModel))?.license ?? null;
  } catch {
    return null;
  }
}
