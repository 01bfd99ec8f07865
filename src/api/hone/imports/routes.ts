import type { Services } from '../../../domain/services.ts';
import { withFilePart } from '../../../http/multipart.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { confirmation, errorBody, refused, tag } from '../common.ts';
import { presentImport } from './presenters.ts';
import * as s from './schemas.ts';

const record = { description: 'The import', schema: s.importRecord } as const;
const noImport: ResponseDoc = { description: 'Import not found', schema: errorBody };
const notReady: ResponseDoc = { description: 'The import is not ready for this', schema: errorBody };

/** Importing datasets of other formats. */
export function importRoutes({ imports, uploadLimitBytes }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/imports',
      tag,
      summary:
        'Propose how to import a dataset: a file as multipart form data with a part "file", a stored dataset, a path, or a dataset of the hub',
      upload: true,
      body: s.importBody,
      paths: { dataset: 'file', path: 'file' },
      bodyExample: { path: '/data/conversations.parquet' },
      responses: {
        200: { description: 'The proposal, or what is wrong with the source', schema: s.importRecord },
        400: refused,
        403: { description: 'The dataset of the hub or the path is not accessible', schema: errorBody },
        404: { description: 'Dataset or file not found', schema: errorBody },
        413: { description: 'The file is too large', schema: errorBody },
        502: { description: 'The hub cannot be reached', schema: errorBody },
        503: { description: 'Too many uploads at once; try again later', schema: errorBody },
        507: { description: 'The disk is full', schema: errorBody },
      },
      handle: async ({ body, exchange }) => {
        if (body?.dataset !== undefined) return presentImport(await imports.fromDataset(body.dataset));
        if (body?.path !== undefined) return presentImport(await imports.fromPath(body.path));
        if (body?.hub !== undefined) return presentImport(await imports.fromHub(body.hub));
        return withFilePart(exchange, 'file', uploadLimitBytes, async ({ filename, content }) =>
          presentImport(await imports.fromUpload(filename, content)),
        );
      },
    }),
    route({
      method: 'GET',
      path: '/api/imports',
      tag,
      summary: 'List the imports since the start of the service, newest first',
      responses: { 200: { description: 'The imports', schema: s.importList } },
      handle: () => ({ imports: imports.list().map(presentImport) }),
    }),
    route({
      method: 'GET',
      path: '/api/imports/{id}',
      tag,
      summary: 'Get an import',
      responses: { 200: record, 404: noImport },
      handle: ({ params }) => presentImport(imports.get(params.id)),
    }),
    route({
      method: 'POST',
      path: '/api/imports/{id}/preview',
      tag,
      summary:
        'Show how the first rows would be imported with another mapping of columns, or from another list of a JSON object',
      body: s.importPreviewBody,
      bodyExample: {
        mapping: { target: 'input-output', columns: { input: 'question', output: 'reply' } },
      },
      responses: { 200: record, 400: refused, 404: noImport, 409: notReady },
      handle: async ({ params, body }) =>
        presentImport(await imports.preview(params.id, body.mapping, body.rows_at)),
    }),
    route({
      method: 'POST',
      path: '/api/imports/{id}/start',
      tag,
      summary: 'Start an import; a failed one can be started again',
      body: s.importStartBody,
      bodyExample: { name: 'support.jsonl', skip_invalid: true },
      responses: {
        200: record,
        400: refused,
        404: noImport,
        409: notReady,
        503: { description: 'Too many imports at once; try again later', schema: errorBody },
      },
      handle: ({ params, body: { mapping, name, skip_invalid: skipInvalid } }) =>
        presentImport(imports.start(params.id, { mapping, name, skipInvalid })),
    }),
    route({
      method: 'DELETE',
      path: '/api/imports/{id}',
      tag,
      summary: 'Cancel an import and forget it; the dataset that it made stays',
      responses: { 200: { description: 'The import was forgotten', schema: confirmation }, 404: noImport },
      handle: async ({ params }) => {
        await imports.remove(params.id);
        return { status: 'deleted', message: `Import ${params.id} was deleted` };
      },
    }),
  ];
}
