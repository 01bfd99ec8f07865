import { stat } from 'node:fs/promises';
import { refusalOf } from '../../../faults.ts';
import { readDataset } from '../files/dataset-file.ts';
import type { TrainingData } from '../training-data.ts';
import { parseOr } from './parse-or.ts';
import { isBlank, readLines } from './read-lines.ts';

/** What the last files that were looked at are refused for. */
const known = new Map<string, string | null>();
const mostKnown = 16;

/** @throws AppError `invalid` where all rows of unpaired preferences have the same label. */
export async function requireBothLabels({ path, name }: TrainingData): Promise<void> {
  const { dev, ino, size, mtimeMs } = await readDataset(path, name, () => stat(path));
  const key = [dev, ino, size, mtimeMs].join();
  let fault = known.get(key);
  if (fault === undefined) {
    fault = await readDataset(path, name, () => whyOneLabel(path));
    if (known.size >= mostKnown) known.clear();
    known.set(key, fault);
  }
  if (fault !== null) throw refusalOf('dataset', fault);
}

async function whyOneLabel(path: string): Promise<string | null> {
  let first: unknown;
  for await (const line of readLines(path, Number.POSITIVE_INFINITY)) {
    if (isBlank(line)) continue;
    // A file that was replaced meanwhile may be none of rows.
    const { label } = (parseOr(line.text, null) ?? {}) as { label?: unknown };
    first ??= label;
    if (label !== first) return null;
  }
  return `All rows have the label ${first}, and kto learns from both; add rows with the other label, or ${
    first === true
      ? 'import the rows as inputs with outputs and set strategy to sft'
      : 'better answers to the same prompts, as rows of prompt, chosen, rejected for dpo'
  }`;
}
