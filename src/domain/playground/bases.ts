import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError } from '../../errors.ts';
import { findCached } from '../../hub/cached-model.ts';
import { writeBaseTemplate } from '../../trainer/preview.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { locateModel } from '../base-models/base-model.ts';
import type { LocalModels } from '../base-models/local-models.ts';
import { readTemplateFacts, type TemplateFacts } from '../models/models.ts';
import { recommendedSettings } from '../training/settings.ts';
import type { Source } from './mixture.ts';

/** A base model of this machine that answers. */
export interface FoundBase {
  /** As a request names it. */
  readonly name: string;
  /** When its files were written last. */
  readonly changedAt: Date;
  readonly isGguf: boolean;
  /** Its files and template; the first time, the template is made, which takes seconds. @throws AppError `invalid` */
  prepare(): Promise<Source>;
  /** What is told of its template, made as above. */
  templateOf(): Promise<TemplateFacts>;
}

/** Base models that answer with nothing added to them (docs/decisions/0023-base-models-answer.md). */
export interface Bases {
  /** The one of a name as `LocalModel.answersAs` has it, or with the model itself. @throws AppError `not_found` */
  find(name: string): Promise<FoundBase>;
  /** Ends what is being made. */
  close(): void;
}

/** The weights as they are stored, in the precision of the machine. */
const settings = recommendedSettings({
  profile: 'mid_range',
  cuda: false,
  quantizes: false,
  defaultBatchSize: null,
});

/** @param unload ends the process of a base whose files changed or are gone. */
export function createBases(options: {
  readonly localModels: LocalModels;
  /** Where templates are kept until the service ends. */
  readonly dir: string;
  readonly command: TrainerCommand;
  readonly unload: (modelKey: string) => Promise<void>;
}): Bases {
  const { localModels, dir, command, unload } = options;
  const closing = new AbortController();
  /** By what the files of a base are. */
  const made = new Map<string, ReturnType<typeof make>>();
  /** What answered under a name. */
  const latest = new Map<string, { readonly key: string; readonly modelKey: string }>();
  // One at a time: each is a Python process that loads a tokenizer.
  let turn: Promise<unknown> = Promise.resolve();
  let isFirst = true;
  /** What names stood for when the models of this machine, which are looked for on the disk, were listed last. */
  const listed = new Map<string, string>();

  /** The model of a name, with its files; `null` if there is none. */
  async function look(name: string, reference: string) {
    const known = listed.get(name);
    const files = known === undefined ? null : await filesOf(known);
    if (known !== undefined && files !== null) return { model: known, files };
    listed.delete(name);
    const found = (await localModels()).find(
      ({ answersAs, model }) => answersAs !== null && (answersAs === name || model === reference),
    );
    const now = found && (await filesOf(found.model));
    if (found === undefined || now == null) return null;
    listed.set(name, found.model);
    return { model: found.model, files: now };
  }

  async function make(model: JobSpec['model'], key: string) {
    const path = join(dir, `${key}.json`);
    const { signal } = closing;
    const mine = turn.then(async () => {
      // Those of an earlier start may be otherwise than this version makes them.
      if (isFirst) await rm(dir, { recursive: true, force: true });
      isFirst = false;
      await mkdir(dir, { recursive: true });
      return writeBaseTemplate(command, model, { folder: dir, path, signal });
    });
    turn = mine.catch(() => undefined);
    return { path, ...(await mine) };
  }

  function templateOf(model: JobSpec['model'], key: string): ReturnType<typeof make> {
    const known = made.get(key) ?? make(model, key);
    made.set(key, known);
    known.catch(() => made.delete(key));
    return known;
  }

  /** Frees the memory of what a name stood for before. */
  async function forget(name: string): Promise<void> {
    const before = latest.get(name);
    latest.delete(name);
    if (before !== undefined) await unload(before.modelKey);
  }

  return {
    async find(name) {
      const reference = name.slice(name.indexOf(':') + 1);
      const found = await look(name, reference);
      if (found === null) {
        await forget(name);
        throw new AppError(
          'not_found',
          `There is no base model ${reference.slice(0, 200)} on this machine that can answer. GET /api/base_models lists those that can.`,
        );
      }
      const { key, model, changedAt } = found.files;
      const { gguf } = model;
      const modelKey = gguf ?? `${name} ${key}`;
      if (latest.get(name)?.key !== key) await forget(name);
      latest.set(name, { key, modelKey });
      return {
        name,
        changedAt,
        isGguf: gguf !== undefined,
        async prepare() {
          const { path: template, task, strategy } = await templateOf(model, key);
          const about = { name, baseModel: found.model, modelId: modelKey, isCheckpoint: false };
          if (gguf !== undefined)
            return { ...about, weights: { template, gguf, unmerge: [], adapter: null, base: null } };
          const scratch = join(dir, `${key}.partial`);
          const trained = { base: model, task, strategy, settings, scratch };
          return { ...about, weights: { template, trained, adapters: [] } };
        },
        templateOf: async () => readTemplateFacts((await templateOf(model, key)).path),
      };
    },
    close: () => closing.abort(),
  };
}

/** Where the files of a base are, and what tells them from others at the same place; `null` if they are gone. */
async function filesOf(name: string) {
  const { path, gguf } = locateModel(name);
  if (gguf !== undefined) {
    const facts = await stat(gguf).catch(() => null);
    // The folder is named by what the file is.
    return path === null || path === gguf || facts === null
      ? null
      : { key: basename(path), model: { name, path, gguf }, changedAt: facts.mtime };
  }
  const folder = path ?? (await findCached(name));
  const names = folder === null ? null : await readdir(folder).catch(() => null);
  if (folder === null || names === null) return null;
  const hash = createHash('sha256').update(folder);
  let changedMs = 0;
  for (const file of names.sort()) {
    const facts = await stat(join(folder, file)).catch(() => null);
    hash.update(`\n${file} ${facts?.size} ${facts?.mtimeMs}`);
    changedMs = Math.max(changedMs, facts?.mtimeMs ?? 0);
  }
  const key = hash.digest('hex').slice(0, 32);
  return { key, model: { name, path: folder }, changedAt: new Date(changedMs) };
}
