import { deletionQuery } from '../../domain/bin/deletion-query.ts';
import type { Services } from '../../domain/services.ts';
import { route } from '../../http/route.ts';
import { modelIdExample, noHub, noModel, refused, tag } from './documented.ts';
import { presentDetailed, presentListed, presentReduced } from './presenters.ts';
import * as s from './schemas.ts';
import { underName } from './under-name.ts';

/** Trained models, and their way to the hub. */
export function modelRoutes({ hubPush, models, registry, removeModel }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/models/',
      tag,
      summary: 'List the models, newest first',
      responses: { 200: { description: 'The models', schema: s.listedModels } },
      handle: () => models.list().map(presentListed),
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}',
      tag,
      summary: 'Get a model',
      responses: { 200: { description: 'The model', schema: s.detailedModel }, 404: noModel },
      handle: ({ params }) => presentDetailed(models.find(params.model_id)),
    }),
    route({
      method: 'GET',
      path: '/api/models/task/{task}',
      tag,
      summary: 'List the models of a task',
      responses: { 200: { description: 'The models', schema: s.reducedModels }, 400: refused },
      handle: async ({ params }) => {
        await underName(['path', 'task'], () => registry.checkTask(params.task));
        return models.list(params.task).map(presentReduced);
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/models/{model_id}',
      tag,
      summary: 'Delete a model and its files',
      query: deletionQuery,
      responses: {
        200: { description: 'The model was deleted', schema: s.modelDeleted },
        404: noModel,
        409: { description: 'The model is in use', schema: s.error },
      },
      handle: async ({ params, query }) => {
        const { name, binId } = await removeModel(params.model_id, query.permanently);
        return { success: true, message: `Model ${name} was deleted`, bin_id: binId };
      },
    }),
    route({
      method: 'POST',
      path: '/api/hub/push',
      tag,
      summary: 'Push a model to the hub (private by default); unchanged files are skipped',
      body: s.pushBody,
      bodyExample: { model_id: modelIdExample, repo_name: 'owner/name', private: true },
      responses: {
        200: { description: 'The model is on the hub', schema: s.pushed },
        400: refused,
        403: { description: 'The token is missing or has no write access', schema: s.error },
        404: noModel,
        409: { description: 'A push is in progress, or the repository is public', schema: s.error },
        502: noHub,
      },
      handle: async ({ body }) => {
        const { repoUrl, message } = await hubPush.push({
          model: body.model_id,
          repository: body.repo_name,
          isPrivate: body.private,
        });
        return { success: true, message, repo_url: repoUrl };
      },
    }),
  ];
}
