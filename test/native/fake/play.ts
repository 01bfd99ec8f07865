import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HardwareSample } from '../../../src/hardware/sample.ts';
import type { Scenario } from './probe.ts';

const probe = join(import.meta.dirname, 'probe.ts');

/** Plays all scenarios in one process under the given driver; the answers in the same order. */
export async function play<Answer>(
  folder: string,
  scenarios: Scenario[],
  preload = process.env.LD_PRELOAD,
): Promise<Answer[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', probe, JSON.stringify(scenarios)],
    {
      env: { ...process.env, LD_LIBRARY_PATH: folder, LD_PRELOAD: preload, CUDA_VISIBLE_DEVICES: undefined },
      maxBuffer: 2 ** 26,
    },
  );
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer);
}

/** A scenario that reads the facts of the machine. */
export const facts = (env: Record<string, string>, rest: Partial<Scenario> = {}): Scenario => ({
  env,
  do: 'facts',
  ...rest,
});
/** A scenario that samples frames. */
export const frames = (env: Record<string, string>, rest: Partial<Scenario> = {}): Scenario => ({
  env,
  do: 'frames',
  ...rest,
});
export interface Sampled {
  readonly frames: HardwareSample[];
  readonly afterStop: number;
}
