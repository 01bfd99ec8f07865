import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Json, root } from '../service.ts';

const golden = (name: string) => readFileSync(join(root, 'test', 'contract', name), 'utf8');
/** The journal lines of `test/contract`, by type; the last of each type. */
const lines = new Map<string, Json>(
  golden('journal.golden.jsonl')
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text))
    .map((line) => [line.type, line]),
);

/** A journal line of a type, some minutes into a run. */
export const line = (type: string, changes: object = {}): Json => ({ ...lines.get(type), ...changes });

/** Makes the folder of a job as `docs/job-folder.md` describes it. @param journal its lines; `null` for none. */
export function makeJobFolder(dataDir: string, id: number, journal: readonly Json[] | null): string {
  const folder = join(dataDir, 'jobs', `train_${id}`);
  mkdirSync(folder, { recursive: true });
  const spec = {
    ...JSON.parse(golden('spec.golden.json')),
    job_id: `train_${id}`,
    job_dir: folder,
    tensorboard_dir: null,
    tracking: null,
  };
  writeFileSync(join(folder, 'spec.json'), JSON.stringify(spec));
  writeFileSync(join(folder, 'dataset.jsonl'), '');
  if (journal === null) return folder;
  writeFileSync(join(folder, 'log.txt'), 'a line of the log\n');
  writeFileSync(
    join(folder, 'journal.jsonl'),
    journal.map((entry, seq) => `${JSON.stringify({ ...entry, seq })}\n`).join(''),
  );
  return folder;
}

/** The artifacts of a completed run, which wait for their adoption. */
export function makeArtifacts(jobFolder: string): void {
  mkdirSync(join(jobFolder, 'artifacts', 'adapter'), { recursive: true });
  writeFileSync(join(jobFolder, 'artifacts', 'model-Q8_0.gguf'), 'weights');
  writeFileSync(join(jobFolder, 'artifacts', 'adapter', 'adapter_config.json'), '{}');
}
