import type { Services } from '../../../domain/services.ts';
import { sendFile } from '../../../http/file-reply.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { errorBody, refused, tag } from '../common.ts';
import { presentEdited, presentVersion } from './presenters.ts';
import { changed, diskFull, noDataset, tooManyUploads } from './responses.ts';
import * as s from './schemas.ts';

const noVersion: ResponseDoc = { description: 'Dataset not found, or version not kept', schema: errorBody };

/** The rows that a dataset had when runs and evaluations used them. */
export function versionRoutes({ datasetVersions }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/datasets/{name}/versions',
      tag,
      summary:
        'List what a dataset has now and the earlier versions that runs and evaluations keep, with what each changed',
      responses: { 200: { description: 'The versions', schema: s.versions }, 404: noDataset },
      handle: async ({ params }) => ({
        versions: (await datasetVersions.list(params.name)).map(({ changes, ...version }) => ({
          ...presentVersion(version),
          added_rows: changes?.added ?? null,
          removed_rows: changes?.removed ?? null,
        })),
      }),
    }),
    route({
      method: 'GET',
      path: '/api/datasets/{name}/versions/{sha256}',
      tag,
      summary: 'Get a version of a dataset with rows by page or by search',
      query: s.versionQuery,
      responses: { 200: { description: 'The version', schema: s.versionRows }, 404: noVersion },
      handle: async ({ params, query: { rows: count, ...query }, exchange: { signal } }) => {
        const { version, page } = await datasetVersions.rows(params.name, params.sha256, {
          ...query,
          count,
          signal,
        });
        const { rows, cut, lines, next } = page;
        return { ...presentVersion(version), rows, cut_rows: cut, lines, next_from: next };
      },
    }),
    route({
      method: 'GET',
      path: '/api/datasets/{name}/versions/{sha256}/file',
      tag,
      summary: 'Download the file of a version of a dataset',
      responses: {
        200: { description: 'The file', contentType: 'application/octet-stream' },
        404: noVersion,
      },
      handle: async ({ params, exchange }) =>
        sendFile(exchange, await datasetVersions.file(params.name, params.sha256)),
    }),
    route({
      method: 'POST',
      path: '/api/datasets/{name}/versions/{sha256}/restore',
      tag,
      summary:
        'Give a dataset the rows of an earlier version, until the next change with DELETE /api/datasets/{name}/cleaning to take it back',
      body: s.restoreBody,
      bodyExample: { version: '4f0c8f1f3a5f4a0e' },
      responses: {
        200: { description: 'The new version', schema: s.edited },
        400: refused,
        404: noVersion,
        409: changed,
        503: tooManyUploads,
        507: diskFull,
      },
      handle: async ({ params, body }) => {
        const made = await datasetVersions.restore(params.name, params.sha256, body.version);
        return presentEdited(made.dataset, made.version);
      },
    }),
  ];
}
