import { deletionQuery } from '../../../domain/bin/deletion-query.ts';
import { jobName } from '../../../domain/job-record/job.ts';
import type { Services } from '../../../domain/services.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { deletion, errorBody, tag } from '../common.ts';
import * as i from '../identity.ts';
import { jobDetailOf } from './job-detail.ts';
import { jobNumber } from './job-number.ts';
import { presentJob } from './presenters.ts';
import * as s from './schemas.ts';

const noJob: ResponseDoc = { description: 'Job not found', schema: errorBody };
const conflict: ResponseDoc = { description: 'Not possible in the current job state', schema: errorBody };

/** How many trials jobs stand for, by their IDs. */
const namedJobs = (trials: ReadonlyMap<number, number>): Record<string, number> =>
  Object.fromEntries([...trials].map(([id, count]) => [jobName(id), count]));

/** Job history and actions. */
export function jobRoutes(services: Services) {
  const { budgets, jobs: store } = services;
  return [
    route({
      method: 'GET',
      path: '/api/jobs',
      tag,
      access: 'train',
      summary: 'List training jobs, newest first or in another order, with optional filters',
      query: s.listQuery,
      responses: { 200: { description: 'The jobs', schema: s.jobs } },
      handle: ({ query }) => {
        const { state, model_name: modelName, dataset: datasetName, tag: tags, ...others } = query;
        const { sort: order, sweep: sweepId, trials, ...rest } = others;
        const filter = { ...rest, modelName, datasetName, tags, states: state ?? [], order, sweepId };
        const isFolded = trials === 'folded';
        const { jobs: found, total, trials: counts } = store.list({ ...filter, folded: isFolded });
        const page = { jobs: found.map(presentJob), total };
        return isFolded ? { ...page, folded: namedJobs(counts) } : page;
      },
    }),
    route({
      method: 'GET',
      path: '/api/jobs/facets',
      tag,
      summary: 'The tags, base models and datasets that jobs can be filtered by, the most frequent first',
      responses: { 200: { description: 'The values with their numbers of jobs', schema: i.facets } },
      handle: () => store.facets() as i.Facets,
    }),
    route({
      method: 'PATCH',
      path: '/api/jobs/{job_id}',
      tag,
      summary: 'Change the name, notes or tags of a job',
      body: i.identityBody,
      bodyExample: i.identityExample,
      responses: { 200: { description: 'The changed job', schema: s.job }, 404: noJob },
      handle: async ({ params, body }) =>
        presentJob(await store.identify(jobNumber(params.job_id), i.readIdentity(body))),
    }),
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}',
      tag,
      access: 'train',
      summary: 'Get a job with its settings and kept checkpoints',
      responses: { 200: { description: 'The job', schema: s.jobDetail }, 404: noJob },
      handle: ({ params }) => jobDetailOf(services, jobNumber(params.job_id)),
    }),
    route({
      method: 'POST',
      path: '/api/jobs/{job_id}/resume',
      tag,
      access: 'train',
      summary: 'Resume a job from its last checkpoint; with queue it waits for the one that is running',
      body: s.resumeBody,
      bodyExample: { queue: true },
      responses: { 200: { description: 'The job was resumed', schema: s.job }, 404: noJob, 409: conflict },
      handle: async ({ params, body, exchange }) =>
        presentJob(await budgets.resume(exchange.holder, jobNumber(params.job_id), body)),
    }),
    route({
      method: 'POST',
      path: '/api/jobs/{job_id}/stop',
      tag,
      access: 'train',
      summary: 'Stop a job and save a checkpoint, or remove it from the queue; discard also deletes it',
      body: s.stopBody,
      bodyExample: { discard: false },
      responses: {
        200: { description: 'The job ended (and with discard was deleted)', schema: s.job },
        404: noJob,
        409: conflict,
      },
      handle: async ({ params, body, exchange }) => {
        const id = jobNumber(params.job_id);
        budgets.checkOwn(exchange.holder, id);
        return presentJob(body.discard ? await store.discard(id) : await store.stop(id));
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/jobs/{job_id}',
      tag,
      summary: 'Delete a job with its checkpoints and logs; its model is kept',
      query: deletionQuery,
      responses: {
        200: { description: 'The job was deleted', schema: deletion },
        404: noJob,
        409: conflict,
      },
      handle: async ({ params, query }) => {
        const id = jobNumber(params.job_id);
        const binId = await store.remove(id, query.permanently);
        return { status: 'deleted', message: `Job ${jobName(id)} was deleted`, bin_id: binId };
      },
    }),
  ];
}
