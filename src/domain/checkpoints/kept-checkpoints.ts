import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';

/** A complete checkpoint of a job. */
export interface Checkpoint {
  readonly step: number;
  /** Relative to the job folder. */
  readonly path: string;
  readonly createdAt: string;
  /** The latest at this step: `final_loss`, and those of the last evaluation. */
  readonly metrics: Readonly<Record<string, number | null>>;
}

/** `COMPLETE` in the folder of a checkpoint (docs/job-folder.md). */
const marker = v.object({
  step: v.number(),
  metrics: v.optional(v.record(v.string(), v.nullable(v.number())), {}),
});

/** The complete checkpoints in a job folder, by step. */
export async function readCheckpoints(jobDir: string): Promise<Checkpoint[]> {
  const names = await readdir(join(jobDir, 'checkpoints')).catch(() => []);
  const found = await Promise.all(
    names.map(async (name) => {
      if (!/^checkpoint-\d+$/.test(name)) return [];
      const path = join(jobDir, 'checkpoints', name, 'COMPLETE');
      try {
        const { step, metrics } = v.parse(marker, JSON.parse(await readFile(path, 'utf8')));
        const { mtime } = await stat(path);
        return [{ step, path: `checkpoints/${name}`, createdAt: mtime.toISOString(), metrics }];
      } catch {
        // It is being written or deleted, or damaged.
        return [];
      }
    }),
  );
  return found.flat().sort((a, b) => a.step - b.step);
}
