import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';

const trainedFile = 'trained.json';
const trained = v.object({ metrics: v.record(v.string(), v.nullable(v.number())) });
export type Trained = Readonly<v.InferOutput<typeof trained>>;

/** Whether a job took its last step, as far as its folder tells. */
export const isTrained = (folder: string): boolean => existsSync(join(folder, trainedFile));

/**
 * What a trainer notes after the last step (docs/job-folder.md), from which a resumed job goes on with the export.
 * @returns `null` before that, or if what was trained, an adapter or a whole model, is not there.
 */
export function readTrained(folder: string): Trained | null {
  const artifacts = join(folder, 'artifacts');
  try {
    const found = v.parse(trained, JSON.parse(readFileSync(join(folder, trainedFile), 'utf8')));
    const has = (name: string) => existsSync(join(artifacts, name));
    const hasWeights = has('adapter/adapter_config.json') || has('adapter/config.json');
    return hasWeights && has('template.json') ? found : null;
  } catch {
    return null;
  }
}
