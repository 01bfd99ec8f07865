import { deletionQuery } from '../../../domain/bin/deletion-query.ts';
import type { Dataset } from '../../../domain/datasets/dataset.ts';
import type { RowsWanted } from '../../../domain/datasets/rows/pages/row-page.ts';
import type { Services } from '../../../domain/services.ts';
import { route } from '../../../http/route.ts';
import { deletion, errorBody, refused, tag } from '../common.ts';
import { presentDatasetDetail, presentStored } from './presenters.ts';
import { noDataset, tooManyUploads } from './responses.ts';
import * as s from './schemas.ts';

/** Dataset routes beyond upload and list. */
export function datasetRoutes(services: Services) {
  const { budgets, datasetAnalysis, datasets, imports, planner } = services;
  async function detail(dataset: Dataset, wanted: RowsWanted, model: string | null) {
    const { name, numExamples } = dataset;
    const { order } = wanted;
    return presentDatasetDetail(dataset, await datasets.rows(name, wanted), {
      warnings: await planner.sizeWarnings(numExamples, model),
      convertible: await datasets.convertibleFrom(name),
      import: await datasets.note(name),
      length_unit: order === undefined ? null : order.tokens === null ? 'characters' : 'tokens',
    });
  }
  return [
    route({
      method: 'GET',
      path: '/api/datasets/{name}',
      tag,
      access: 'train',
      summary:
        'Get a dataset: validation errors, rows by page or by search, and whether it is large enough for a model',
      query: s.rowsQuery,
      paths: { model_name: 'model' },
      responses: { 200: { description: 'The dataset', schema: s.dataset }, 404: noDataset },
      handle: async ({ params, query, exchange }) => {
        const dataset = datasets.get(params.name);
        const { from, rows: count, search, lines, flagged, sort, model_name: model = null } = query;
        const { signal } = exchange;
        const only = lines === undefined ? undefined : new Set(lines.split(',').map(Number));
        const order = sort && {
          longestFirst: sort === '-length',
          model,
          tokens: model === null ? null : await datasetAnalysis.rowTokens(dataset.name, model, signal),
        };
        return detail(dataset, { from, count, search, lines: only, flagged, order, signal }, model);
      },
    }),
    route({
      method: 'POST',
      path: '/api/datasets/{name}/rows',
      tag,
      access: 'train',
      summary: 'Add rows to a dataset, which is made if there is none; runs keep the rows that they used',
      body: s.newRows,
      bodyExample: { rows: [{ input: 'My parcel has not come.', output: 'Shipping: We will trace it.' }] },
      responses: {
        200: { description: 'The dataset', schema: s.dataset },
        400: refused,
        503: tooManyUploads,
      },
      handle: async ({ params, body, exchange }) => {
        const bytes = Buffer.byteLength(JSON.stringify(body.rows));
        const add = () => datasets.addRows(params.name, body.rows);
        const dataset = await budgets.addRows(exchange.holder, params.name, bytes, add);
        return detail(dataset, { from: 0, count: 20 }, null);
      },
    }),
    route({
      method: 'POST',
      path: '/api/datasets/{name}/split',
      tag,
      summary: 'Split a dataset at random into one for training and one for validation',
      body: s.splitBody,
      bodyExample: { fraction: 0.1 },
      responses: {
        200: { description: 'The two new datasets', schema: s.split },
        400: refused,
        404: noDataset,
        503: tooManyUploads,
      },
      handle: async ({ params, body, exchange }) => {
        const { training, validation } = await datasets.split(params.name, body, exchange.signal);
        return { training: presentStored(training), validation: presentStored(validation) };
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/datasets/{name}',
      tag,
      summary: 'Delete a dataset; jobs keep their own copy of the rows',
      query: deletionQuery,
      responses: { 200: { description: 'The dataset was deleted', schema: deletion }, 404: noDataset },
      handle: async ({ params, query }) => {
        const binId = await datasets.remove(params.name, query.permanently);
        return { status: 'deleted', message: `Dataset ${params.name} was deleted`, bin_id: binId };
      },
    }),
    route({
      method: 'POST',
      path: '/api/datasets/{name}/convert',
      tag,
      summary:
        'Import a dataset in a format of another tool as it is proposed; /api/imports has more choices',
      responses: {
        200: { description: 'The new dataset', schema: s.dataset },
        400: { description: 'Nothing to convert, or rows that cannot be imported', schema: errorBody },
        404: noDataset,
      },
      handle: async ({ params }) =>
        detail(await imports.convertDataset(params.name), { from: 0, count: 20 }, null),
    }),
  ];
}
