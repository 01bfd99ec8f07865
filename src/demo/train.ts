import { startBar } from '../client/bar.ts';
import { failureOf, followRun, type JobView } from '../client/follow-run.ts';
import type { Client } from '../client/http-client.ts';

/**
 * Starts a training and shows its progress.
 * @returns the completed job. @throws Error with the cause of a failure.
 */
export async function train(client: Client, request: Record<string, unknown>): Promise<JobView> {
  const started = await client.post<{ job_id: string }>('/api/finetune/start_training', request);
  const job = await followRun(client, started.job_id, startBar('Training'));
  if (job.state === 'completed') return job;
  throw new Error(failureOf(job));
}
