import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asAppError } from '../../errors.ts';
import type { OpenAiAccess } from '../../openai-source/access.ts';
import { readContent } from '../../openai-source/openai-source.ts';
import type { MovedJob } from './moved-records.ts';

/**
 * Stores the result files of a job as CSV in `folder`. What is there is not read again, and what the other service does
 * not have is left out.
 * @returns the job with its last figures; `null` if nothing was new.
 */
export async function fetchResults(
  access: OpenAiAccess,
  job: MovedJob,
  folder: string,
): Promise<MovedJob | null> {
  let metrics = job.metrics;
  let isNew = false;
  for (const id of job.result_files) {
    const path = join(folder, `${nameOf(job.id)}.${nameOf(id)}.csv`);
    if (existsSync(path)) continue;
    const csv = await readContent(access, id).then(asCsv, (thrown) => {
      const { code } = asAppError(thrown).details;
      if ((code === 'missing' || code === 'refused') && !access.signal.aborted) return null;
      throw thrown;
    });
    if (csv === null) continue;
    await mkdir(folder, { recursive: true });
    await writeFile(`${path}.partial`, csv);
    await rename(`${path}.partial`, path);
    metrics = { ...metrics, ...lastFigures(csv) };
    isNew = true;
  }
  return isNew ? { ...job, metrics } : null;
}

/** IDs come from outside, and become names of files. */
const nameOf = (id: string) => id.replace(/[^\w-]/g, '_').slice(0, 100);

/** The API sends result files as CSV, or as its base64. */
function asCsv(text: string): string {
  const plain = /^[\w+/=\s]+$/.test(text) ? Buffer.from(text, 'base64').toString('utf8') : text;
  return plain.replace(/^\uFEFF/, '');
}

/** The last number of each column but `step`; most steps have no figures of the validation file. */
export function lastFigures(csv: string): Record<string, number> {
  const [header = '', ...lines] = csv.trim().split(/\r?\n/);
  const names = header.split(',').map((name) => name.trim());
  const found: Record<string, number> = {};
  for (const line of lines) {
    for (const [place, value] of line.split(',').entries()) {
      const name = names[place];
      const number = Number(value);
      if (name && name !== 'step' && value.trim() !== '' && Number.isFinite(number)) found[name] = number;
    }
  }
  return found;
}
