import { setTimeout as sleep } from 'node:timers/promises';
import { deletionQuery } from '../../domain/bin/deletion-query.ts';
import { startedMessage } from '../../domain/job-record/job.ts';
import { userPrompt } from '../../domain/playground/playground.ts';
import type { Services } from '../../domain/services.ts';
import { trainingExample, trainingPaths, trainingRequest } from '../../domain/training/training-request.ts';
import { errorReply } from '../../http/error-reply.ts';
import { withFilePart } from '../../http/multipart.ts';
import { rendered } from '../../http/rendered.ts';
import { type Face, type ResponseDoc, route, withExamples } from '../../http/route.ts';
import { examples } from './openapi-examples.ts';
import {
  presentDataset,
  presentDetailed,
  presentListed,
  presentStatus,
  presentUpload,
} from './presenters.ts';
import * as s from './schemas.ts';

const tag = 'flat';
const refused: ResponseDoc = { description: 'Invalid request', schema: s.error };
const noModel: ResponseDoc = { description: 'Model not found', schema: s.error };

/** How long a stop request waits for the checkpoint; the trainer stops in any case. */
const stopAnswerMs = 30_000;

/** The flat `/api` set: integer ids, errors as `{error, detail, status_code}`. */
export function createFlatFace(services: Services) {
  return {
    name: 'flat',
    routes: withExamples([...system(services), ...training(services), ...models(services)], examples),
    presentError: errorReply,
    error: s.error,
  } satisfies Face;
}

function system(services: Services) {
  const { cluster: seenCluster, databaseNotice, dataDir, http, parallel, registry, version } = services;
  return [
    route({
      method: 'GET',
      path: '/api/info',
      tag,
      access: 'train',
      summary: 'Service information',
      responses: { 200: { description: 'Providers, strategies and tasks', schema: s.info } },
      handle: async ({ exchange }) => {
        const { engines, providers, strategies, tasks } = await registry.get();
        const cluster = seenCluster();
        const names = (entries: readonly { name: string }[]) => entries.map(({ name }) => name);
        return {
          providers: names(providers),
          strategies: names(strategies),
          tasks: names(tasks),
          version,
          data_dir: exchange.peer.isLocal ? dataDir : null,
          availability: providers.map(({ name, available, reason }) => ({
            provider: name,
            available,
            reason,
          })),
          engines: engines.map(({ name, available, reason }) => ({
            engine: name,
            // Whether this machine could use a cluster is asked once; whether there is one changes.
            ...(name === 'cluster' && available && cluster !== null
              ? { available: cluster.available, reason: cluster.reason }
              : { available, reason }),
          })),
          http,
          parallel: parallel === 1 ? undefined : parallel,
          database_notice: databaseNotice ?? undefined,
          cluster: cluster ?? undefined,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/health',
      tag,
      access: 'free',
      summary: 'Health check',
      responses: { 200: { description: 'The service is healthy', schema: s.health } },
      handle: () => ({ status: 'healthy', version }),
    }),
  ];
}

function training({ budgets, jobs, datasets, uploadLimitBytes }: Services) {
  const status = rendered(presentStatus);
  return [
    route({
      method: 'POST',
      path: '/api/start_training',
      tag,
      access: 'train',
      summary: 'Start training',
      body: trainingRequest,
      paths: trainingPaths,
      moreFaults: (fields, refused) => jobs.faults({ fields, refused }),
      bodyExample: trainingExample,
      responses: {
        200: { description: 'Training started', schema: s.started },
        400: refused,
        404: { description: 'Dataset not found', schema: s.error },
        409: { description: 'Training is already in progress', schema: s.error },
      },
      handle: async ({ body, exchange }) => {
        const { job, warnings } = await budgets.start(exchange.holder, body);
        return {
          status: 'started',
          job_id: `train_${job.id}`,
          message: startedMessage(job, warnings),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/training_status',
      tag,
      access: 'train',
      summary: 'Training status',
      responses: { 200: { description: 'The status', schema: s.status } },
      handle: () => status(jobs.current()),
    }),
    route({
      method: 'POST',
      path: '/api/stop_training',
      tag,
      summary: 'Stop training and save a checkpoint',
      responses: {
        200: { description: 'Training stopped', schema: s.stopped },
        409: { description: 'No training in progress', schema: s.error },
      },
      handle: async () => {
        const job = await Promise.race([jobs.stop(), sleep(stopAnswerMs, null, { ref: false })]);
        const message =
          job === null
            ? 'Training is stopping; the checkpoint is still being saved'
            : job.state === 'stopped'
              ? 'Training stopped; a checkpoint was saved'
              : `Training had already ended with the state ${job.state}`;
        return { status: 'stopped', message };
      },
    }),
    route({
      method: 'POST',
      path: '/api/upload_dataset',
      tag,
      summary: 'Upload a JSONL dataset as multipart form data with a part "file"',
      upload: true,
      responses: {
        200: { description: 'The dataset was stored; includes the validation result', schema: s.uploaded },
        400: refused,
        413: { description: 'The file is too large', schema: s.error },
        503: { description: 'Too many uploads at once; try again later', schema: s.error },
        507: { description: 'The disk is full', schema: s.error },
      },
      handle: ({ exchange }) =>
        withFilePart(exchange, 'file', uploadLimitBytes, async ({ filename, content }) =>
          presentUpload(await datasets.upload(filename, content)),
        ),
    }),
    route({
      method: 'GET',
      path: '/api/datasets',
      tag,
      access: 'train',
      summary: 'List the datasets, newest first',
      responses: { 200: { description: 'The datasets', schema: s.datasets } },
      handle: () => ({ datasets: datasets.list().map(presentDataset) }),
    }),
  ];
}

function models({ models: store, playground, removeModel }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/models',
      tag,
      access: 'train',
      summary: 'List the models, newest first',
      responses: { 200: { description: 'The models', schema: s.models } },
      handle: () => ({ models: store.list().map(presentListed) }),
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id:digits}',
      tag,
      summary: 'Get a model',
      responses: { 200: { description: 'The model', schema: s.detailedModel }, 404: noModel },
      handle: ({ params }) => presentDetailed(store.find(params.model_id)),
    }),
    route({
      method: 'DELETE',
      path: '/api/models/{model_id:digits}',
      tag,
      summary: 'Delete a model and its files',
      query: deletionQuery,
      responses: {
        200: { description: 'The model was deleted', schema: s.stopped },
        404: noModel,
        409: { description: 'The model is in use', schema: s.error },
      },
      handle: async ({ params, query }) => {
        const model = await removeModel(params.model_id, query.permanently);
        return { status: 'deleted', message: `Model ${model.name} was deleted` };
      },
    }),
    route({
      method: 'POST',
      path: '/api/playground/generate',
      tag,
      summary: 'Generate text with a model',
      body: s.generateBody,
      bodyExample: {
        model_id: 1,
        prompt: 'My parcel has not come.',
        max_new_tokens: 128,
        temperature: 0.7,
        top_p: 0.9,
      },
      responses: {
        200: { description: 'The generated text', schema: s.generated },
        400: refused,
        404: noModel,
        409: { description: 'The checkpoint cannot answer', schema: s.error },
      },
      handle: async ({ body, exchange }) => {
        const result = await playground.generate(
          {
            model: String(body.model_id),
            input: userPrompt(body.prompt),
            maxTokens: body.max_new_tokens,
            temperature: body.temperature,
            topP: body.top_p,
            caller: exchange.peer.address,
            checkpoint: body.checkpoint,
            scale: body.scale,
            blend: body.blend,
          },
          { signal: exchange.signal },
        );
        return {
          generated_text: result.text,
          tokens_generated: result.generatedTokens,
          generation_time_ms: Math.round(result.durationMs),
        };
      },
    }),
  ];
}
