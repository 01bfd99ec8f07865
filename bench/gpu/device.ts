import { spawnSync } from 'node:child_process';

/** Where the scenarios of `--gpu` run; a dry run takes the CPU. */
export type Device = 'cuda' | 'cpu';

/** Why nothing can be measured on a GPU here, or `null`. */
export function missingGpu(): string | null {
  const { status, stdout } = spawnSync('nvidia-smi', ['-L'], { encoding: 'utf8' });
  return status === 0 && stdout.includes('GPU ')
    ? null
    : 'no NVIDIA GPU, or no nvidia-smi (part of its driver)';
}
