import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './folders.ts';

const startsProcesses =
  /^(?:import\b(?! type)|export|\}).* from '(?:node:child_process|node-llama-cpp|playwright-core|.*\/src\/inference\/engine\/engine\.ts)';$/m;
/** A module with a computed path may be any module. */
const computedImport = /\bimport\([^')]/;
const importLine = /^(?:import|export|\}).* from '(\.[^']+)';$/gm;
/** Source files may contain code that starts processes; `no-processes.mjs` detects whether a test runs it. */
const isHelper = (path: string) => path.startsWith(join(root, 'test'));

/**
 * Whether a test file starts no process: neither it nor a helper under `test/` that it imports contains code that
 * starts one. `npm run check` runs these files.
 */
export function isUnit(file: string, seen = new Set<string>()): boolean {
  const path = join(root, file);
  if (seen.has(path)) return true;
  seen.add(path);
  const text = readFileSync(path, 'utf8');
  if (startsProcesses.test(text) || computedImport.test(text)) return false;
  return [...text.matchAll(importLine)]
    .map(([, target]) => join(dirname(path), target as string))
    .filter((target) => target.endsWith('.ts') && isHelper(target))
    .every((target) => isUnit(target.slice(root.length + 1), seen));
}
