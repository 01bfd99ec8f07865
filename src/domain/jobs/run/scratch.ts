import { rm } from 'node:fs/promises';
import { join } from 'node:path';

/** What a trainer has in its job's folder while it runs (docs/job-folder.md), and leaves there when it is killed. */
const scratch = [
  'ranks',
  'code',
  'export.partial',
  'full-precision',
  'full-precision.partial',
  join('checkpoints', '.aside'),
];

/** Removes from a job's folder what a killed trainer has left; what cannot be removed stays for the next run. */
export async function removeScratch(folder: string): Promise<void> {
  await Promise.allSettled(
    scratch.map((name) => rm(join(folder, name), { recursive: true, force: true, maxRetries: 2 })),
  );
}
