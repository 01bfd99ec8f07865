import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import type { FineTuningJobRow } from '../../db/tables/fine-tuning.ts';

/** In a job's folder: what a request to OpenAI's fine-tuning API said, for when the database is lost. */
const name = 'fine-tuning.json';

const asked = v.object({
  modelName: v.string(),
  suffix: v.nullable(v.string()),
  metadata: v.record(v.string(), v.string()),
  trainingFile: v.string(),
  validationFile: v.nullable(v.string()),
  learningRateMultiplier: v.number(),
});

export function writeAsked(folder: string, { jobId: _, ...row }: FineTuningJobRow): void {
  writeFileSync(join(folder, name), `${JSON.stringify(row, null, 2)}\n`);
}

/** `null` for a job that was started by other means, or if the file is damaged. */
export function readAsked(folder: string, jobId: number): FineTuningJobRow | null {
  try {
    return { jobId, ...v.parse(asked, JSON.parse(readFileSync(join(folder, name), 'utf8'))) };
  } catch {
    return null;
  }
}
