import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dataset } from '../dataset.ts';
import { uploadPrefix } from '../files/dataset-writer.ts';
import type { Validation } from '../rows/row-validator.ts';
import { freezeRows } from '../training-data.ts';

/** The rows that a dataset had before a cleaning. */
interface Former {
  readonly aside: string;
  readonly validation: Validation;
}

/** Keeps what the last cleanings changed, until the service ends: the files are deleted at its next start. */
export interface FormerRows {
  /** Keeps the rows of a dataset aside while `work` replaces them. @param work returns the version that it makes. */
  keeping<T extends { readonly version: string }>(dataset: Dataset, work: () => Promise<T>): Promise<T>;
  /** The rows before the cleaning that made a version, which are then the caller's. */
  take(version: string): Former | undefined;
  /** Deletes the rows before the cleaning that made a version. */
  forget(version: string): Promise<void>;
}

/** Each may take as much space as its dataset. */
const kept = 4;

export function createFormerRows(dir: string): FormerRows {
  const formers = new Map<string, Former>();
  const take = (version: string) => {
    const former = formers.get(version);
    formers.delete(version);
    return former;
  };
  async function forget(version: string): Promise<void> {
    const former = take(version);
    if (former !== undefined) await rm(former.aside, { force: true });
  }

  return {
    take,
    forget,
    async keeping({ name, numExamples, validation }, work) {
      const aside = join(dir, `${uploadPrefix}${randomUUID()}.former`);
      // Only the path and the name matter.
      const data = {
        name,
        path: join(dir, name),
        numExamples,
        shape: validation.shape ?? 'text',
        stored: true,
      };
      await freezeRows(data, aside);
      try {
        const done = await work();
        formers.set(done.version, { aside, validation });
        for (const oldest of formers.keys()) if (formers.size > kept) await forget(oldest);
        return done;
      } catch (error) {
        await rm(aside, { force: true });
        throw error;
      }
    },
  };
}
