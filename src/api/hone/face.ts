import { listFiles, openFile } from '../../domain/downloads.ts';
import { jobName } from '../../domain/job.ts';
import { userPrompt } from '../../domain/playground.ts';
import { consumptionOf } from '../../domain/series.ts';
import type { Services } from '../../domain/services.ts';
import { trainingExample, trainingRequest } from '../../domain/training-request.ts';
import { AppError } from '../../errors.ts';
import { errorReply } from '../../http/error-reply.ts';
import { sendFile } from '../../http/file-reply.ts';
import { Reply } from '../../http/reply.ts';
import { type Face, type ResponseDoc, type Route, route } from '../../http/route.ts';
import { presentDocs } from './docs.ts';
import { presentMetrics } from './metrics.ts';
import { presentDatasetDetail, presentJob, presentJobDetail, presentPlan } from './presenters.ts';
import * as s from './schemas.ts';

const tag = 'hone';
const noJob: ResponseDoc = { description: 'There is no such job', schema: s.error };
const conflict: ResponseDoc = { description: 'The state of the job does not allow it', schema: s.error };

/** @throws AppError `not_found` for what is no job's name. */
function jobNumber(name: string | undefined): number {
  const matched = /^train_(\d{1,15})$/.exec(name ?? '');
  if (matched === null) throw new AppError('not_found', `There is no job ${(name ?? '').slice(0, 100)}.`);
  return Number(matched[1]);
}

/** Our own routes, beyond the specification: history of jobs, base answers, and the OpenAPI document. */
export function createHoneFace(services: Services, openApi: () => Readonly<Record<string, unknown>>): Face {
  return {
    name: 'hone',
    routes: [...jobs(services), ...data(services), ...files(services), ...others(services, openApi)],
    presentError: errorReply,
    error: s.error,
  };
}

function jobs({ jobs: store }: Services): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/jobs',
      tag,
      summary: 'Training jobs, newest first',
      query: s.listQuery,
      responses: { 200: { description: 'The jobs', schema: s.jobs } },
      handle: ({ query }) => {
        const { jobs: found, total } = store.list({
          ...(query.state === undefined ? {} : { states: [query.state] }),
          limit: query.limit,
          offset: query.offset,
        });
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
        return presentJobDetail(store.get(id), consumptionOf(store.series(id, 0).train));
      },
    }),
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}/metrics',
      tag,
      summary: 'The series of a job: a point a step, and the evaluations',
      query: s.metricsQuery,
      responses: { 200: { description: 'The series', schema: s.series }, 404: noJob },
      handle: ({ params, query }) => store.series(jobNumber(params.job_id), query.points),
    }),
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}/events',
      tag,
      summary: 'What was told of a job beside its curves: warnings, samples, checkpoints, files',
      responses: { 200: { description: 'The frames, oldest first', schema: s.events }, 404: noJob },
      handle: ({ params }) => ({ events: store.events(jobNumber(params.job_id)) }),
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
      summary: 'Stop a job with a checkpoint, or take it out of the queue',
      responses: { 200: { description: 'The job has ended', schema: s.job }, 404: noJob, 409: conflict },
      handle: async ({ params }) => presentJob(await store.stop(jobNumber(params.job_id))),
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

const noDataset: ResponseDoc = { description: 'There is no such dataset', schema: s.error };
const noModel: ResponseDoc = { description: 'There is no such model or file', schema: s.error };
const refused: ResponseDoc = { description: 'The request is not valid', schema: s.error };

function data({ catalog, datasets, planner, previewer }: Services): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/datasets/{name}/preview',
      tag,
      summary: 'What training would see of the first rows: tokens, which carry loss, what is cut off',
      body: s.previewBody,
      bodyExample: { task: 'text-generation', model_name: 'Qwen/Qwen3-0.6B', rows: 5 },
      responses: { 200: { description: 'The rows', schema: s.preview }, 400: refused, 404: noDataset },
      handle: async ({ params, body: { rows, ...request } }) =>
        previewer.preview({ ...request, dataset: datasets.get(params.name as string).name }, rows),
    }),
    route({
      method: 'GET',
      path: '/api/datasets/{name}',
      tag,
      summary: 'One dataset: its faults and its first rows',
      query: s.rowsQuery,
      responses: { 200: { description: 'The dataset', schema: s.dataset }, 404: noDataset },
      handle: async ({ params, query }) => {
        const dataset = datasets.get(params.name as string);
        return presentDatasetDetail(dataset, await datasets.firstRows(dataset.name, query.rows));
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/datasets/{name}',
      tag,
      summary: 'Delete a dataset; jobs keep the rows that they train on',
      responses: { 200: { description: 'The dataset is deleted', schema: s.deleted }, 404: noDataset },
      handle: async ({ params }) => {
        await datasets.remove(params.name as string);
        return { status: 'deleted', message: `Dataset ${params.name} has been deleted` };
      },
    }),
    route({
      method: 'POST',
      path: '/api/datasets/{name}/convert',
      tag,
      summary: 'Write rows of another tool’s shape (Alpaca, messages, ShareGPT) anew as input and output',
      responses: {
        200: { description: 'The new dataset', schema: s.dataset },
        400: { description: 'There is nothing to convert', schema: s.error },
        404: noDataset,
      },
      handle: async ({ params }) => {
        const dataset = await datasets.convert(params.name as string);
        return presentDatasetDetail(dataset, await datasets.firstRows(dataset.name, 20));
      },
    }),
    route({
      method: 'POST',
      path: '/api/estimate',
      tag,
      summary: 'What memory and disk a training would need, and what to change if it does not fit',
      body: trainingRequest,
      bodyExample: trainingExample,
      responses: { 200: { description: 'The estimate', schema: s.estimate }, 400: refused },
      handle: async ({ body }) => {
        await catalog.checkTask(body.task);
        return presentPlan(await planner.plan(body));
      },
    }),
  ];
}

function files({ models, quantizer }: Services): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/models/{model_id}/quantize',
      tag,
      summary: 'Make another type of the GGUF file; progress and end come as export frames',
      body: s.quantizeBody,
      bodyExample: { type: 'Q4_K_M' },
      responses: {
        200: { description: 'The work has started', schema: s.quantizing },
        400: refused,
        404: noModel,
        409: { description: 'The type is there, or another is being made', schema: s.error },
      },
      handle: async ({ params, body }) => {
        const model = await quantizer.start(params.model_id as string, body.type);
        return { status: 'started', message: `The type ${body.type} of ${model.name} is being made` };
      },
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/files',
      tag,
      summary: 'The files of a model',
      responses: { 200: { description: 'Names and sizes', schema: s.files }, 404: noModel },
      handle: async ({ params }) => ({ files: await listFiles(models.find(params.model_id as string)) }),
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/files/{name}',
      tag,
      summary: 'Download a file of a model (slashes in its name as %2F)',
      responses: { 200: { description: 'The file', contentType: 'application/octet-stream' }, 404: noModel },
      handle: async ({ params, exchange }) =>
        sendFile(exchange, await openFile(models.find(params.model_id as string), params.name as string)),
    }),
  ];
}

function others(services: Services, openApi: () => Readonly<Record<string, unknown>>): Route[] {
  const { playground } = services;
  return [
    route({
      method: 'GET',
      path: '/metrics',
      tag,
      summary: 'Figures of the service and its training for Prometheus',
      responses: { 200: { description: 'The figures', contentType: 'text/plain' } },
      handle: () => Reply.text(200, presentMetrics(services), 'text/plain; version=0.0.4; charset=utf-8'),
    }),
    route({
      method: 'GET',
      path: '/api/docs',
      tag,
      summary: 'This document as a page',
      responses: { 200: { description: 'The page', contentType: 'text/html' } },
      handle: () => Reply.text(200, presentDocs(openApi()), 'text/html; charset=utf-8'),
    }),
    route({
      method: 'POST',
      path: '/api/playground/base',
      tag,
      summary: 'Generate text as the model did before it was trained',
      body: s.generateBody,
      bodyExample: {
        model_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
        prompt: 'My parcel has not come.',
        max_length: 128,
        temperature: 0.7,
        top_p: 0.9,
      },
      responses: {
        200: { description: 'The text', schema: s.generated },
        400: { description: 'The request is not valid', schema: s.error },
        404: { description: 'There is no such model', schema: s.error },
      },
      handle: async ({ body, exchange }) => {
        const result = await playground.generate(
          {
            model: body.model_id,
            input: userPrompt(body.prompt),
            maxTokens: body.max_length,
            temperature: body.temperature,
            topP: body.top_p,
            asBase: true,
          },
          { signal: exchange.signal },
        );
        return {
          generated_text: result.text,
          prompt: body.prompt,
          tokens_generated: result.generatedTokens,
          generation_time_ms: Math.round(result.durationMs),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/openapi.json',
      tag,
      summary: 'This document (OpenAPI 3.1)',
      responses: { 200: { description: 'The description of every route' } },
      handle: openApi,
    }),
  ];
}
