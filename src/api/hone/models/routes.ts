import { findFile, listFiles } from '../../../domain/models/downloads.ts';
import { parentIn } from '../../../domain/models/merged-base.ts';
import { readVerified } from '../../../domain/models/verified-files.ts';
import type { Services } from '../../../domain/services.ts';
import { sendFile } from '../../../http/file-reply.ts';
import { Reply } from '../../../http/reply.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { confirmation, errorBody, tag } from '../common.ts';
import * as i from '../identity.ts';
import { presentCatalogued, presentLineage } from './presenters.ts';
import * as s from './schemas.ts';

const noModel: ResponseDoc = { description: 'Model or file not found', schema: errorBody };

/** Models by name, their files and their lineage. */
export function modelRoutes({ hubPush, models }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/catalog',
      tag,
      access: 'train',
      summary: 'List models with their names, notes and tags, newest first, with optional filters',
      query: s.catalogQuery,
      responses: { 200: { description: 'The models', schema: s.catalog } },
      handle: ({ query }) => {
        const { base_model: baseModel, dataset: datasetName, tag: tags, ...rest } = query;
        return { models: models.search({ ...rest, baseModel, datasetName, tags }).map(presentCatalogued) };
      },
    }),
    route({
      method: 'GET',
      path: '/api/catalog/facets',
      tag,
      summary: 'The tags, base models and datasets that models can be filtered by, the most frequent first',
      responses: { 200: { description: 'The values with their numbers of models', schema: i.facets } },
      handle: () => models.facets() as i.Facets,
    }),
    route({
      method: 'PATCH',
      path: '/api/catalog/{model_id}',
      tag,
      summary: 'Change the displayed name, notes or tags of a model; the name that requests use stays',
      body: i.identityBody,
      bodyExample: i.identityExample,
      responses: { 200: { description: 'The changed model', schema: s.catalogued }, 404: noModel },
      async handle({ params, body }) {
        const model = await models.identify(params.model_id, i.readIdentity(body));
        return presentCatalogued({ ...model, parent: parentIn(model.config) });
      },
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/card',
      tag,
      summary: 'The model card that a push to a repository of the hub would have',
      query: s.cardQuery,
      responses: {
        200: { description: 'The card, in Markdown', contentType: 'text/markdown' },
        400: { description: 'Invalid name, or files of the model are gone', schema: errorBody },
        404: noModel,
      },
      handle: async ({ params, query }) => {
        const card = await hubPush.card({ model: params.model_id, repository: query.repo_name });
        return new Reply(200, card, { 'content-type': 'text/markdown; charset=utf-8' });
      },
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/push',
      tag,
      summary: 'How far the push of a model to the hub is',
      responses: { 200: { description: 'The push, if one is underway', schema: s.push }, 404: noModel },
      handle: ({ params }) => {
        const underway = hubPush.underway(params.model_id);
        if (underway === null) return { underway };
        const { repository, phase, fraction } = underway;
        return { underway: { repo_name: repository, state: phase, fraction } };
      },
    }),
    route({
      method: 'POST',
      path: '/api/models/{model_id}/push/cancel',
      tag,
      summary: 'Cancel a push to the hub; the next push sends only the missing files',
      responses: {
        200: { description: 'The push was cancelled or had already ended', schema: confirmation },
        404: noModel,
        409: { description: 'No push in progress', schema: errorBody },
      },
      handle: async ({ params }) => {
        const { repository, cancelled } = await hubPush.cancel(params.model_id);
        return cancelled
          ? { status: 'cancelled', message: `The push to ${repository} was cancelled` }
          : { status: 'ended', message: `The push to ${repository} had already ended` };
      },
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/files',
      tag,
      summary: 'List the files of a model',
      responses: { 200: { description: 'Names and sizes', schema: s.files }, 404: noModel },
      handle: async ({ params }) => ({ files: await listFiles(models.find(params.model_id)) }),
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/files/{name}',
      tag,
      summary: 'Download a file of a model (encode slashes in its name as %2F)',
      responses: { 200: { description: 'The file', contentType: 'application/octet-stream' }, 404: noModel },
      handle: async ({ params, exchange }) =>
        sendFile(exchange, await findFile(models.find(params.model_id), params.name)),
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/lineage',
      tag,
      summary: 'Lineage of a model: base model, dataset, settings, metrics, verification and files',
      responses: { 200: { description: 'The lineage', schema: s.lineage }, 404: noModel },
      handle: async ({ params }) => {
        const model = models.find(params.model_id);
        const [files, template, verified] = await Promise.all([
          listFiles(model),
          models.templateOf(model),
          readVerified(model),
        ]);
        return presentLineage(model, files, { template, verified });
      },
    }),
  ];
}
