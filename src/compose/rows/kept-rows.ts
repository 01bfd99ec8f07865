import { join } from 'node:path';
import type { Config } from '../../config.ts';
import type { Store } from '../../db/store.ts';
import type { KeptRows } from '../../domain/datasets/versions/dataset-versions.ts';
import { evaluationName } from '../../domain/evaluations/evaluation.ts';
import { evaluationRowsName } from '../../domain/evaluations/evaluation-file.ts';
import { displayNameOf, type Job, jobName } from '../../domain/job-record/job.ts';

/** The files of rows that runs and evaluations of these datasets keep: runs first, each the newest first. */
export function keptRows(
  store: Store,
  { jobsDir, evaluationsDir }: Pick<Config, 'jobsDir' | 'evaluationsDir'>,
  names: readonly string[],
): KeptRows[] {
  const runs = (part: 'dataset' | 'validation') =>
    names.flatMap((name) => {
      const of = part === 'dataset' ? { datasetName: name } : { validationName: name };
      const { jobs } = store.jobs.list({ ...of, states: [], limit: -1, offset: 0 });
      return (jobs as Job[]).map((job) => ({
        path: join(jobsDir, jobName(job.id), `${part}.jsonl`),
        rows: (job.spec as Partial<Record<typeof part, { rows?: number }>> | null)?.[part]?.rows ?? null,
        use: { kind: 'run' as const, id: jobName(job.id), name: displayNameOf(job) },
      }));
    });
  const evaluations = store.evaluations.list().filter(({ dataset }) => names.includes(dataset));
  return [
    ...runs('dataset'),
    ...runs('validation'),
    ...evaluations.map(({ id, subject }) => ({
      path: join(evaluationsDir, evaluationRowsName(id)),
      rows: null,
      use: {
        kind: 'evaluation' as const,
        id: evaluationName(id),
        name: (subject as { name: string }).name,
      },
    })),
  ];
}
