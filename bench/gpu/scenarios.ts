import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scenario as exporting } from '../export.ts';
import { scenario as hardware } from '../hardware.ts';
import { pythonVersion, root } from '../harness/places.ts';
import type { Scenario } from '../harness/scenario.ts';
import { type Device, missingGpu } from './device.ts';
import { playground } from './playground.ts';
import { training } from './training.ts';

/** What `npm run bench -- --gpu` measures. */
export const gpuScenarios = (device: Device): readonly Scenario[] => [
  training(device),
  exporting,
  playground(device),
  hardware,
];

/** Why `--gpu` and `--dry-run` cannot be done as they were asked for, or `null`. */
export function gpuProblem(dry: boolean, gpu: boolean, names: readonly string[]): string | null {
  if (!gpu) return '--dry-run belongs to --gpu: npm run bench -- --gpu --dry-run';
  if (names.length > 0) return `--gpu has its own scenarios; leave out ${names.join(' ')}.`;
  const missing = dry ? null : missingGpu();
  return missing === null
    ? null
    : `--gpu measures on a GPU, and here is none: ${missing}. ` +
        'What can be tried without one is tried by: npm run bench -- --gpu --dry-run';
}

/** Packages with the versions that Hone pins, and what is installed of them. */
export async function describePackages(names: readonly string[]): Promise<string[]> {
  const pins = ['requirements.txt', 'requirements-accelerated.txt']
    .flatMap((file) => readFileSync(join(root, 'trainer', file), 'utf8').split('\n'))
    .map((text) => /^([\w.-]+)==([^\s;]+)/.exec(text))
    .filter((found) => found !== null);
  return Promise.all(
    names.map(async (name) => {
      const pinned = pins.find(([, pin]) => pin === name)?.[2];
      if (pinned === undefined) throw new Error(`trainer/requirements*.txt does not pin ${name}`);
      const has = await pythonVersion(name);
      if (has?.split('+')[0] === pinned) return `${name} ${pinned}: installed`;
      return `${name} ${pinned}: ${has === null ? 'not installed' : `${has} is installed`}; npm start installs it`;
    }),
  );
}
