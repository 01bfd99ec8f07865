import type { Services } from '../../../domain/services.ts';
import { refusalOf } from '../../../faults.ts';
import { sendFile } from '../../../http/file-reply.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { errorBody, refused, tag } from '../common.ts';
import { presentEdited, presentStored } from './presenters.ts';
import { changed, diskFull, noDataset, tooManyUploads } from './responses.ts';
import * as s from './schemas.ts';

const taken: ResponseDoc = { description: 'The name is taken, or in use by an upload', schema: errorBody };

/** A dataset's file, and what changes it. */
export function changeRoutes({ datasets }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/datasets/{name}/file',
      tag,
      summary: 'Download the file of a dataset',
      responses: {
        200: { description: 'The file', contentType: 'application/octet-stream' },
        400: { description: 'The file cannot be read', schema: errorBody },
        404: noDataset,
      },
      handle: async ({ params, exchange }) => sendFile(exchange, await datasets.file(params.name)),
    }),
    route({
      method: 'GET',
      path: '/api/datasets/{name}/rows/{line}',
      tag,
      summary: 'Get a row as it is written, by the number of its line',
      responses: {
        200: { description: 'The row', schema: s.row },
        400: { description: 'The row is too long, or the line is not a number', schema: errorBody },
        404: { description: 'Dataset or row not found', schema: errorBody },
      },
      handle: async ({ params, exchange }) => {
        const line = Number(params.line);
        if (!/^\d{1,15}$/.test(params.line)) throw refusalOf('line', 'A line is a whole number.');
        return { line, ...(await datasets.row(params.name, line, exchange.signal)) };
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/datasets/{name}/rows',
      tag,
      summary: 'Edit, put back and delete rows, which makes a new version; runs keep the rows that they used',
      body: s.rowEdits,
      bodyExample: {
        version: '4f0c8f1f3a5f4a0e',
        changes: [{ line: 1, text: '{"input": "Where is my parcel?", "output": "Shipping: We trace it."}' }],
        deletions: [7],
      },
      responses: {
        200: { description: 'The new version', schema: s.edited },
        400: refused,
        404: noDataset,
        409: changed,
        503: tooManyUploads,
        507: diskFull,
      },
      handle: async ({ params, body: { version, ...edits } }) => {
        const edited = await datasets.editRows(params.name, version, edits);
        return presentEdited(edited.dataset, edited.version);
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/datasets/{name}/flags',
      tag,
      summary: 'Flag rows and take flags away; a row keeps its flag until it is edited itself',
      body: s.flagBody,
      bodyExample: { version: '4f0c8f1f3a5f4a0e', flagged: [3, 17] },
      responses: {
        200: { description: 'The dataset, whose version is the same', schema: s.edited },
        400: refused,
        404: noDataset,
        409: changed,
      },
      handle: async ({ params, body: { version, ...lines }, exchange }) => {
        const { dataset } = await datasets.flagRows(params.name, version, lines, exchange.signal);
        return presentEdited(dataset, version);
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/datasets/{name}',
      tag,
      summary: 'Rename a dataset; it is found by its former names, too, and keeps the ID of its file',
      body: s.renameBody,
      bodyExample: { filename: 'tickets.jsonl' },
      responses: {
        200: { description: 'The renamed dataset', schema: s.stored },
        400: refused,
        404: noDataset,
        409: taken,
      },
      handle: async ({ params, body }) => presentStored(await datasets.rename(params.name, body.filename)),
    }),
    route({
      method: 'POST',
      path: '/api/datasets/{name}/copies',
      tag,
      summary: 'Duplicate a dataset',
      body: s.copyBody,
      bodyExample: {},
      responses: {
        200: { description: 'The copy', schema: s.stored },
        400: refused,
        404: noDataset,
        409: taken,
        503: tooManyUploads,
        507: diskFull,
      },
      handle: async ({ params, body }) => presentStored(await datasets.copy(params.name, body.filename)),
    }),
  ];
}
