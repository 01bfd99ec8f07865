import type { ModelDownload } from '../../../domain/base-models/hub-models.ts';
import type { Services } from '../../../domain/services.ts';
import { route } from '../../../http/route.ts';
import { confirmation, errorBody, refused, tag } from '../common.ts';
import * as s from './schemas.ts';

const presentDownload = ({ doneBytes, totalBytes, ...download }: ModelDownload) => ({
  ...download,
  done_bytes: doneBytes,
  total_bytes: totalBytes,
});

/** The hub's models on this machine: their download ahead of a training, and their deletion. */
export function modelDownloadRoutes({ hubModels }: Services) {
  return [
    route({
      method: 'DELETE',
      path: '/api/base_models',
      tag,
      summary: 'Delete a base model from the hub cache; what was trained of it stays',
      query: s.hubModelQuery,
      paths: { model: 'model' },
      responses: {
        200: { description: 'The model was deleted', schema: confirmation },
        400: refused,
        404: { description: 'The model is not in the hub cache', schema: errorBody },
        409: { description: 'The model is used by a run, or being downloaded', schema: errorBody },
      },
      handle: async ({ query: { model } }) => {
        await hubModels.remove(model);
        return { status: 'deleted', message: `${model} was deleted` };
      },
    }),
    route({
      method: 'GET',
      path: '/api/base_models/downloads',
      tag,
      summary: 'List the downloads of base models since the start of the service, newest first',
      responses: { 200: { description: 'The downloads', schema: s.modelDownloads } },
      handle: () => ({ downloads: hubModels.downloads().map(presentDownload) }),
    }),
    route({
      method: 'POST',
      path: '/api/base_models/downloads',
      tag,
      summary: 'Download a base model of the hub; a training downloads by itself what is missing',
      body: s.hubModelBody,
      paths: { model: 'model' },
      bodyExample: { model: 'Qwen/Qwen3-0.6B' },
      responses: {
        200: { description: 'The download', schema: s.modelDownload },
        400: refused,
        403: { description: 'The model is missing, private or gated', schema: errorBody },
        409: { description: 'The model is here, or too many are downloaded', schema: errorBody },
        502: { description: 'The hub cannot be reached', schema: errorBody },
        507: { description: 'The disk is full', schema: errorBody },
      },
      handle: async ({ body }) => presentDownload(await hubModels.download(body.model)),
    }),
    route({
      method: 'DELETE',
      path: '/api/base_models/downloads/{id}',
      tag,
      summary: 'Cancel the download of a base model, and forget it',
      responses: {
        200: { description: 'The download was forgotten', schema: confirmation },
        404: { description: 'Download not found', schema: errorBody },
      },
      handle: async ({ params }) => {
        await hubModels.cancel(params.id);
        return { status: 'deleted', message: `Download ${params.id} was cancelled` };
      },
    }),
  ];
}
