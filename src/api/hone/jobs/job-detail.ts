import type { Services } from '../../../domain/services.ts';
import { presentJobDetail } from './presenters.ts';

/** A job as `/api/jobs/{job_id}` has it. @throws AppError `not_found`. */
export async function jobDetailOf({ jobs, checkpoints }: Services, id: number) {
  const kept = await checkpoints.list(id);
  const verdict = jobs.verdict(
    id,
    kept.map(({ step }) => step),
  );
  const job = jobs.get(id);
  const facts = {
    template: await checkpoints.templateOf(job),
    trained: jobs.isTrained(id),
    askedWith: await jobs.askedWith(id),
  };
  return presentJobDetail(job, jobs.consumption(id), kept, facts, verdict);
}
