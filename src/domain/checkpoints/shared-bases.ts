import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Store } from '../../db/store.ts';
import type { ListedModel, ModelRow } from '../../db/tables/models.ts';
import { baseNote, baseNoteName } from '../../trainer/checkpoint.ts';

/** What trials of exports found out about bases, which outlives models: a few hundred bytes each. */
const dryRunEnding = '.dry-run.json';

/** What a model or a job says of its base. */
export type BaseNote = Readonly<v.InferOutput<typeof baseNote>>;

/** The note in the folder of a model or a job; `null` if there is none, as in folders of earlier versions. */
export async function readBaseNote(folder: string): Promise<BaseNote | null> {
  try {
    return v.parse(baseNote, JSON.parse(await readFile(join(folder, baseNoteName), 'utf8')));
  } catch {
    return null;
  }
}

/** The GGUF files of base models. All models and jobs whose notes name one share it. */
export interface SharedBases {
  readonly dir: string;
  /** The path of a base's file, or `null` while there is none. */
  fileOf(note: BaseNote | null): string | null;
  /** The models that can share the base's file with `model`, itself among them. */
  modelsOf(note: BaseNote, model: Pick<ModelRow, 'baseModel'>): Promise<ListedModel[]>;
  /** Deletes the files that no model and no job names. @returns the paths of those that were complete. */
  sweep(): Promise<string[]>;
}

export function createSharedBases(options: {
  readonly store: Store;
  readonly basesDir: string;
  readonly jobsDir: string;
  /** Folders of what was deleted and can be restored. */
  readonly deleted: () => readonly string[];
}): SharedBases {
  const { store, basesDir: dir, jobsDir } = options;

  return {
    dir,
    fileOf(base) {
      const path = base && join(dir, base.file);
      return path !== null && existsSync(path) ? path : null;
    },
    async modelsOf({ file }, { baseModel }) {
      const found: ListedModel[] = [];
      for (const model of store.models.find({ baseModel })) {
        if ((await readBaseNote(model.path))?.file === file) found.push(model);
      }
      return found;
    },
    async sweep() {
      // Without any, the notes of thousands of models need not be read.
      const found = (await readdir(dir).catch(() => [])).filter((name) => !name.endsWith(dryRunEnding));
      if (found.length === 0) return [];
      const jobs = await readdir(jobsDir).catch(() => []);
      const folders = [
        ...store.models.find({}).map(({ path }) => path),
        ...jobs.map((job) => join(jobsDir, job)),
        ...options.deleted(),
      ];
      const named = new Set<string>();
      for (const folder of folders) named.add((await readBaseNote(folder))?.file ?? '');
      // A process that was killed has left a partial file.
      const unused = found.filter((name) => !named.has(name.replace(/\.partial$/, '.gguf')));
      for (const name of unused) await rm(join(dir, name), { force: true });
      return unused.filter((name) => name.endsWith('.gguf')).map((name) => join(dir, name));
    },
  };
}
