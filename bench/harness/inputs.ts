import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runMeasured } from './measured.ts';
import { programs, python, root } from './places.ts';
import type { Size } from './scenario.ts';

const env = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', TQDM_DISABLE: '1', PYTHONPATH: root };
/** Code that the input programs use: ours by folder, others by package; a change may change the inputs. */
const used = ['trainer', 'trainer/data', 'trainer/export', 'trainer/export/gguf', 'trainer/tests'].map(
  (folder) => join(root, folder),
);
const pinned = join(root, 'trainer', 'requirements.txt');

/**
 * Fills a scenario's folder with the output of the Python program `program DIR …args`, made from a configuration and a
 * seed. Importing the libraries takes longer than generating, so the result is cached under `build/bench`, except at
 * full size, where models are gigabytes large.
 */
export async function makeInputs(
  program: string,
  args: readonly string[],
  { dir, size }: { readonly dir: string; readonly size: Size },
): Promise<void> {
  const script = join(programs, program);
  const make = (folder: string) => runMeasured(python, [script, folder, ...args], { env });
  if (size === 'full') {
    await make(dir);
    return;
  }
  const digest = createHash('sha256').update(args.join('\0'));
  for (const file of [script, pinned, ...used.flatMap(pythonFilesIn)]) digest.update(readFileSync(file));
  const kept = join(root, 'build', 'bench', 'inputs', digest.digest('hex').slice(0, 16));
  if (!existsSync(kept)) {
    const aside = `${kept}.${process.pid}`;
    mkdirSync(aside, { recursive: true });
    try {
      await make(aside);
      // Another run has made it in the meantime.
      if (!existsSync(kept)) renameSync(aside, kept);
    } finally {
      rmSync(aside, { recursive: true, force: true });
    }
  }
  cpSync(kept, dir, { recursive: true });
}

const pythonFilesIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.py'))
    .sort()
    .map((name) => join(folder, name));
