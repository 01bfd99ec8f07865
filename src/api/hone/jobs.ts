import { jobName } from '../../domain/job.ts';
import type { Services } from '../../domain/services.ts';
import { AppError } from '../../errors.ts';
import { Reply } from '../../http/reply.ts';
import { type ResponseDoc, route } from '../../http/route.ts';
import { presentJob, presentJobDetail } from './presenters.ts';
import * as s from './schemas.ts';
import { tag } from './tag.ts';

const noJob: ResponseDoc = { description: 'There is no such job', schema: s.error };
const conflict: ResponseDoc = { description: 'The state of the job does not allow it', schema: s.error };

/** @throws AppError `not_found` for what is no job's name. */
function jobNumber(name: string): number {
  const matched = /^train_(\d{1,15})$/.exec(name);
  if (matched === null) throw new AppError('not_found', `There is no job ${name.slice(0, 100)}.`);
  return Number(matched[1]);
}

/** The history of jobs, and what can be done with one. */
export function jobRoutes({ jobs: store }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/jobs',
      tag,
      summary: 'Training jobs, newest first: all, or those of some states, a task, a model …',
      query: s.listQuery,
      responses: { 200: { description: 'The jobs', schema: s.jobs } },
      handle: ({ query }) => {
        const { state, model_name: modelName, dataset: datasetName, ...rest } = query;
        const filter = { ...rest, modelName, datasetName, states: state ?? [] };
        const { jobs: found, total } = store.list(filter);
        return { jobs: found.map(presentJob), total };
      },
    }),
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}',
      tag,
      summary: 'One job with its settings',
      responses: { 200: { description: 'The job', schema: s.jobDetail }, 404: noJob },
      handle: ({ params }) => {
        const id = jobNumber(params.job_id);
        return presentJobDetail(store.get(id), store.consumption(id));
      },
    }),
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}/metrics',
      tag,
      summary: 'The series of a job: a point a step, and the evaluations',
      query: s.metricsQuery,
      responses: { 200: { description: 'The series', schema: s.series }, 404: noJob },
      handle: ({ params, query }) => store.series(jobNumber(params.job_id), query.points) as s.Series,
    }),
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}/events',
      tag,
      summary: 'What was told of a job beside its curves: warnings, samples, checkpoints, files',
      responses: { 200: { description: 'The frames, oldest first', schema: s.events }, 404: noJob },
      handle: ({ params }) => ({ events: store.events(jobNumber(params.job_id)) as s.Event[] }),
    }),
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}/log',
      tag,
      summary: 'The last lines of the trainer’s log, as text',
      query: s.logQuery,
      responses: { 200: { description: 'The log', contentType: 'text/plain' }, 404: noJob },
      handle: async ({ params, query }) =>
        Reply.text(200, await store.logTail(jobNumber(params.job_id), query.bytes)),
    }),
    route({
      method: 'POST',
      path: '/api/jobs/{job_id}/resume',
      tag,
      summary: 'Go on from the last checkpoint',
      responses: { 200: { description: 'The job runs again', schema: s.job }, 404: noJob, 409: conflict },
      handle: async ({ params }) => presentJob(await store.resume(jobNumber(params.job_id))),
    }),
    route({
      method: 'POST',
      path: '/api/jobs/{job_id}/stop',
      tag,
      summary: 'Stop a job with a checkpoint, or take it out of the queue; or stop and delete it (discard)',
      body: s.stopBody,
      bodyExample: { discard: false },
      responses: {
        200: { description: 'The job has ended (and with discard is deleted)', schema: s.job },
        404: noJob,
        409: conflict,
      },
      handle: async ({ params, body }) => {
        const id = jobNumber(params.job_id);
        return presentJob(body.discard ? await store.discard(id) : await store.stop(id));
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/jobs/{job_id}',
      tag,
      summary: 'Delete a job with its checkpoints and logs; its model stays',
      responses: { 200: { description: 'The job is deleted', schema: s.deleted }, 404: noJob, 409: conflict },
      handle: async ({ params }) => {
        const id = jobNumber(params.job_id);
        await store.remove(id);
        return { status: 'deleted', message: `Job ${jobName(id)} has been deleted` };
      },
    }),
  ];
}
