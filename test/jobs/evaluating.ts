import * as assert from 'uvu/assert';
import { type Json, type TestService, until } from '../service.ts';

/** Scores a dataset to the end. @returns the completed evaluation. */
export async function score(service: TestService, request: object): Promise<Json> {
  const { status, body } = await service.call('POST', '/api/evaluations', request);
  assert.is(status, 200, JSON.stringify(body));
  const path = `/api/evaluations/${body.evaluation_id}`;
  const ended = await until(
    async () => {
      const { body: now } = await service.call('GET', path);
      return ['completed', 'failed'].includes(now.state) ? now : null;
    },
    'it has ended',
    600_000,
  );
  assert.is(ended.state, 'completed', ended.error);
  return ended;
}

/** Trains to the end. @returns the completed job. */
export async function train(service: TestService, request: object, timeoutMs = 600_000): Promise<Json> {
  const { status, body } = await service.call('POST', '/api/finetune/start_training', request);
  assert.is(status, 200, JSON.stringify(body));
  const job = await until(
    async () => {
      const { body: now } = await service.call('GET', `/api/jobs/${body.job_id}`);
      return now.ended_at === null ? null : now;
    },
    'the training has ended',
    timeoutMs,
  );
  assert.is(job.state, 'completed', JSON.stringify(job.error));
  return job;
}
