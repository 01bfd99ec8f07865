import { existsSync, readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import type { ModelRow } from '../../db/models.ts';
import type { Store } from '../../db/store.ts';
import { baseNoteName } from '../../trainer/checkpoint.ts';

/** What a model or a job says of its base. */
export interface BaseNote {
  /** Equal for models that were trained on the same files, whatever the type of their GGUF. */
  readonly base: string;
  /** The name of the base's GGUF: equal names are equal content. */
  readonly file: string;
}

const note = v.object({
  base: v.pipe(v.string(), v.minLength(1)),
  file: v.pipe(v.string(), v.regex(/^[\w-]+\.gguf$/)),
});

/** The note in the folder of a model or a job; `null` if there is none, as in folders of earlier versions. */
export function readBaseNote(folder: string): BaseNote | null {
  try {
    return v.parse(note, JSON.parse(readFileSync(join(folder, baseNoteName), 'utf8')));
  } catch {
    return null;
  }
}

/** The GGUF files of base models. All models and jobs whose notes name one share it. */
export interface SharedBases {
  readonly dir: string;
  /** The path of a base's file, or `null` while there is none. */
  fileOf(note: BaseNote | null): string | null;
  /** The models that answer with a file. */
  modelsOf(note: BaseNote): ModelRow[];
  /** Deletes the files that no model and no job names. @returns the paths of those that were complete. */
  sweep(): Promise<string[]>;
}

export function createSharedBases(options: {
  readonly store: Store;
  readonly basesDir: string;
  readonly jobsDir: string;
}): SharedBases {
  const { store, basesDir: dir, jobsDir } = options;

  return {
    dir,
    fileOf(base) {
      const path = base && join(dir, base.file);
      return path !== null && existsSync(path) ? path : null;
    },
    modelsOf: ({ file }) => store.models.list().filter(({ path }) => readBaseNote(path)?.file === file),
    async sweep() {
      const jobs = await readdir(jobsDir).catch(() => []);
      const folders = [
        ...store.models.list().map(({ path }) => path),
        ...jobs.map((job) => join(jobsDir, job)),
      ];
      const named = new Set(folders.map((folder) => readBaseNote(folder)?.file));
      const found = await readdir(dir).catch(() => []);
      // A process that was killed has left a partial file.
      const unused = found.filter((name) => !named.has(name.replace(/\.partial$/, '.gguf')));
      for (const name of unused) await rm(join(dir, name), { force: true });
      return unused.filter((name) => name.endsWith('.gguf')).map((name) => join(dir, name));
    },
  };
}
