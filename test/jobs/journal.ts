import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json, TestService } from '../service.ts';

/** The lines of a job's journal. */
export const journalOf = (dataDir: string, job: string): Json[] =>
  readFileSync(join(dataDir, 'jobs', job, 'journal.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** The steps of a job's series, as the service tells it. */
export const stepsOf = async (service: TestService, job: string): Promise<number[]> =>
  (await service.call('GET', `/api/jobs/${job}/metrics`)).body.train.map((point: Json) => point.step);

/** 1 to `count`. */
export const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
