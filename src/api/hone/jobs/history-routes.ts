import type { Services } from '../../../domain/services.ts';
import { Reply } from '../../../http/reply.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { errorBody, tag } from '../common.ts';
import { type Series, series } from '../frames/schemas.ts';
import { jobNumber } from './job-number.ts';
import * as s from './schemas.ts';

const noJob: ResponseDoc = { description: 'Job not found', schema: errorBody };

/** What is stored of a job's run. */
export function jobHistoryRoutes({ datasets, jobs: store }: Services) {
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
      path: '/api/jobs/{job_id}/data',
      tag,
      summary:
        'The digest of the rows that a job was started with, and whether its dataset has changed since',
      responses: { 200: { description: 'The rows', schema: s.jobData }, 404: noJob },
      handle: async ({ params }) => {
        const id = jobNumber(params.job_id);
        const found = await store.dataDigest(id);
        const dataset = datasets.find(store.get(id).datasetName)?.name ?? null;
        const now = dataset === null ? null : await datasets.digest(dataset).catch(() => null);
        return {
          rows: found?.rows ?? null,
          sha256: found?.sha256 ?? null,
          dataset,
          changed: found === null || now === null ? null : now !== found.sha256,
        };
      },
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
