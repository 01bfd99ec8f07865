import type { Services } from '../../../domain/services.ts';
import { Reply } from '../../../http/reply.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { errorBody, tag } from '../common.ts';
import { type Series, series } from '../frames/schemas.ts';
import { jobNumber } from './job-number.ts';
import * as s from './schemas.ts';

const noJob: ResponseDoc = { description: 'Job not found', schema: errorBody };

/** What is stored of a job's run. */
export function jobHistoryRoutes({ jobs: store }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}/metrics',
      tag,
      summary: 'Metrics of a job: one point per step, at most 50,000, and evaluations',
      query: s.metricsQuery,
      responses: { 200: { description: 'The metrics', schema: series }, 404: noJob },
      handle: ({ params, query }) => store.series(jobNumber(params.job_id), query.points) as Series,
    }),
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}/events',
      tag,
      summary:
        'What happened to a job: states, phases, evaluations, warnings, samples, checkpoints, resumes and files',
      responses: { 200: { description: 'The events, oldest first', schema: s.events }, 404: noJob },
      handle: ({ params }) => ({ events: store.events(jobNumber(params.job_id)) as s.Event[] }),
    }),
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}/log',
      tag,
      summary: 'The end of the trainer log as plain text',
      query: s.logQuery,
      responses: { 200: { description: 'The log', contentType: 'text/plain' }, 404: noJob },
      handle: async ({ params, query }) =>
        Reply.text(200, await store.logTail(jobNumber(params.job_id), query.bytes)),
    }),
  ];
}
