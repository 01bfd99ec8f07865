import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './folders.ts';

/** The duration of each test file in seconds: from the last run on this machine, or else from the committed list. */
export type Durations = Record<string, number>;

const remembered = join(root, 'build', 'test-durations.json');
/** The assumed duration of a file that has not been measured. */
const unknownSeconds = 10;

const read = (path: string): Durations =>
  existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Durations) : {};

export function readDurations(): (file: string) => number {
  const known = { ...read(join(root, 'test', 'durations.json')), ...read(remembered) };
  return (file) => known[file] ?? unknownSeconds;
}

/** Saves the measured durations for the next run. */
export function rememberDurations(measured: Durations): void {
  const all = { ...read(remembered), ...measured };
  mkdirSync(dirname(remembered), { recursive: true });
  writeFileSync(remembered, `${JSON.stringify(all, Object.keys(all).sort(), 2)}\n`);
}

/** Parses the duration of each file from the output of `pytest --durations=0`, with paths relative to `trainer/`. */
export function pytestDurations(output: string): Durations {
  const durations: Durations = {};
  for (const [, seconds, file] of output.matchAll(/^([\d.]+)s (?:setup|call|teardown) +([^:\s]+)::/gm)) {
    const path = `trainer/${file}`;
    durations[path] = (durations[path] ?? 0) + Number(seconds);
  }
  return durations;
}

/** Divides files into at most `count` groups of similar total duration. */
export function balanced(
  files: readonly string[],
  count: number,
  secondsOf: (file: string) => number,
): string[][] {
  const groups = Array.from({ length: count }, () => ({ files: [] as string[], seconds: 0 }));
  for (const file of [...files].sort((a, b) => secondsOf(b) - secondsOf(a))) {
    const shortest = groups.reduce((a, b) => (b.seconds < a.seconds ? b : a));
    shortest.files.push(file);
    shortest.seconds += secondsOf(file);
  }
  return groups.map((group) => group.files).filter((group) => group.length > 0);
}
