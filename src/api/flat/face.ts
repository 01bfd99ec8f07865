import { setTimeout as sleep } from 'node:timers/promises';
import { startedMessage } from '../../domain/job.ts';
import { userPrompt } from '../../domain/playground.ts';
import type { Services } from '../../domain/services.ts';
import { trainingExample, trainingRequest } from '../../domain/training-request.ts';
import { errorReply } from '../../http/error-reply.ts';
import { withFilePart } from '../../http/multipart.ts';
import { rendered } from '../../http/rendered.ts';
import { type Face, type ResponseDoc, route, withExamples } from '../../http/route.ts';
import { examples } from './examples.ts';
import {
  presentDataset,
  presentDetailed,
  presentListed,
  presentStatus,
  presentUpload,
} from './presenters.ts';
import * as s from './schemas.ts';

const tag = 'flat';
const refused: ResponseDoc = { description: 'The request is not valid', schema: s.error };
const noModel: ResponseDoc = { description: 'There is no such model', schema: s.error };

/** How long the answer to a stop waits for the trainer's checkpoint; it is stopped all the same. */
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

function system({ catalog, version }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/info',
      tag,
      summary: 'What this service offers',
      responses: { 200: { description: 'Providers, strategies and tasks', schema: s.info } },
      handle: async () => {
        const { providers, strategies, tasks } = await catalog.get();
        const names = (entries: readonly { name: string }[]) => entries.map(({ name }) => name);
        return {
          providers: names(providers),
          strategies: names(strategies),
          tasks: names(tasks),
          version,
          availability: providers.map(({ name, available, reason }) => ({
            provider: name,
            available,
            reason,
          })),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/health',
      tag,
      summary: 'Whether the service is well',
      responses: { 200: { description: 'It is', schema: s.health } },
      handle: () => ({ status: 'healthy', version }),
    }),
  ];
}

function training({ jobs, datasets, uploadLimitBytes }: Services) {
  const status = rendered(presentStatus);
  return [
    route({
      method: 'POST',
      path: '/api/start_training',
      tag,
      summary: 'Start a training',
      body: trainingRequest,
      bodyExample: trainingExample,
      responses: {
        200: { description: 'The training has been started', schema: s.started },
        400: refused,
        404: { description: 'There is no such dataset', schema: s.error },
        409: { description: 'A training is already in progress', schema: s.error },
      },
      handle: async ({ body }) => {
        const job = await jobs.start(body);
        return {
          status: 'started',
          job_id: `train_${job.id}`,
          message: startedMessage(job),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/training_status',
      tag,
      summary: 'How the training stands',
      responses: { 200: { description: 'The status', schema: s.status } },
      handle: () => status(jobs.current()),
    }),
    route({
      method: 'POST',
      path: '/api/stop_training',
      tag,
      summary: 'Stop the training with a checkpoint',
      responses: {
        200: { description: 'The training is stopped', schema: s.stopped },
        409: { description: 'No training is in progress', schema: s.error },
      },
      handle: async () => {
        const job = await Promise.race([jobs.stop(), sleep(stopAnswerMs, null, { ref: false })]);
        const message =
          job === null
            ? 'The training is stopping: its checkpoint is still being saved'
            : job.state === 'stopped'
              ? 'The training has been stopped; its progress is saved'
              : `The training had already ended: it is ${job.state}`;
        return { status: 'stopped', message };
      },
    }),
    route({
      method: 'POST',
      path: '/api/upload_dataset',
      tag,
      summary: 'Upload a dataset: multipart form data with a part "file" (JSONL)',
      upload: true,
      responses: {
        200: { description: 'The dataset is stored; whether it is valid is said', schema: s.uploaded },
        400: refused,
        413: { description: 'The file is too large', schema: s.error },
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
      summary: 'The uploaded datasets, newest first',
      responses: { 200: { description: 'The datasets', schema: s.datasets } },
      handle: () => ({ datasets: datasets.list().map(presentDataset) }),
    }),
  ];
}

function models({ models: store, playground }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/models',
      tag,
      summary: 'All models, newest first',
      responses: { 200: { description: 'The models', schema: s.models } },
      handle: () => ({ models: store.list().map(presentListed) }),
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id:digits}',
      tag,
      summary: 'One model',
      responses: { 200: { description: 'The model', schema: s.detailedModel }, 404: noModel },
      handle: ({ params }) => presentDetailed(store.find(params.model_id)),
    }),
    route({
      method: 'DELETE',
      path: '/api/models/{model_id:digits}',
      tag,
      summary: 'Delete a model and its files',
      responses: {
        200: { description: 'The model is deleted', schema: s.stopped },
        404: noModel,
        409: { description: 'The model is in use', schema: s.error },
      },
      handle: async ({ params }) => {
        const model = await store.remove(params.model_id);
        return { status: 'deleted', message: `Model ${model.name} has been deleted` };
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
      responses: { 200: { description: 'The text', schema: s.generated }, 400: refused, 404: noModel },
      handle: async ({ body, exchange }) => {
        const result = await playground.generate(
          {
            model: String(body.model_id),
            input: userPrompt(body.prompt),
            maxTokens: body.max_new_tokens,
            temperature: body.temperature,
            topP: body.top_p,
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
