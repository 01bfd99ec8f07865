import type { JobRow } from '../../../db/tables/jobs.ts';

type Times = Pick<JobRow, 'earlierSeconds' | 'startedAt' | 'endedAt'>;

/** How long a job has run, in all of its attempts; until now if it has not ended. */
export function runSeconds({ earlierSeconds, startedAt, endedAt }: Times): number {
  if (startedAt === null) return earlierSeconds;
  const end = endedAt === null ? Date.now() : Date.parse(endedAt);
  return earlierSeconds + Math.max(0, end - Date.parse(startedAt)) / 1000;
}
