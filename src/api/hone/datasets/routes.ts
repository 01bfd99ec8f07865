import type { Dataset } from '../../../domain/datasets/dataset.ts';
import type { RowsWanted } from '../../../domain/datasets/rows/row-page.ts';
import type { Services } from '../../../domain/services.ts';
import { preview } from '../../../domain/training/previewer.ts';
import { trainingPaths } from '../../../domain/training/training-request.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { confirmation, errorBody, tag } from '../common.ts';
import { presentAnalysis, presentDatasetDetail, presentExample, presentStored } from './presenters.ts';
import * as s from './schemas.ts';

const noDataset: ResponseDoc = { description: 'Dataset not found', schema: errorBody };
const refused: ResponseDoc = { description: 'Invalid request', schema: errorBody };

/** Dataset routes beyond upload and list, and the built-in examples. */
export function datasetRoutes(services: Services) {
  const { datasetAnalysis, datasets, examples, expectTraining, imports, planner, previewer } = services;
  async function detail(dataset: Dataset, wanted: RowsWanted, model: string | null) {
    const { name, numExamples } = dataset;
    return presentDatasetDetail(dataset, await datasets.rows(name, wanted), {
      warnings: await planner.sizeWarnings(numExamples, model),
      convertible: await datasets.convertibleFrom(name),
      import: await datasets.note(name),
    });
  }
  return [
    route({
      method: 'POST',
      path: '/api/datasets/{name}/preview',
      tag,
      summary: 'Preview the first rows as tokens: which are trained on and which are truncated',
      body: s.previewBody,
      paths: trainingPaths,
      bodyExample: { task: 'text-generation', model_name: 'Qwen/Qwen3-0.6B', rows: 5 },
      responses: { 200: { description: 'The rows', schema: preview }, 400: refused, 404: noDataset },
      handle: async ({ params, body: { rows, ...request }, exchange }) => {
        expectTraining();
        const dataset = datasets.get(params.name).name;
        return previewer.preview({ ...request, dataset }, rows, exchange.signal);
      },
    }),
    route({
      method: 'GET',
      path: '/api/datasets/{name}',
      tag,
      summary:
        'Get a dataset: validation errors, rows by page or by search, and whether it is large enough for a model',
      query: s.rowsQuery,
      paths: { model_name: 'model' },
      responses: { 200: { description: 'The dataset', schema: s.dataset }, 404: noDataset },
      handle: async ({ params, query, exchange }) => {
        const dataset = datasets.get(params.name);
        const { from, rows: count, search } = query;
        const wanted = { from, count, search, signal: exchange.signal };
        return detail(dataset, wanted, query.model_name ?? null);
      },
    }),
    route({
      method: 'POST',
      path: '/api/datasets/{name}/rows',
      tag,
      summary: 'Add rows to a dataset, which is made if there is none; runs keep the rows that they used',
      body: s.newRows,
      bodyExample: { rows: [{ input: 'My parcel has not come.', output: 'Shipping: We will trace it.' }] },
      responses: {
        200: { description: 'The dataset', schema: s.dataset },
        400: refused,
        503: { description: 'Too many uploads in progress', schema: errorBody },
      },
      handle: async ({ params, body }) =>
        detail(await datasets.addRows(params.name, body.rows), { from: 0, count: 20 }, null),
    }),
    route({
      method: 'POST',
      path: '/api/datasets/{name}/analysis',
      tag,
      summary: 'Find duplicates and empty answers in a dataset, overlap with another, and lengths in tokens',
      body: s.analysisBody,
      paths: trainingPaths,
      bodyExample: { model_name: 'Qwen/Qwen3-0.6B', max_seq_length: 512, validation_dataset: null },
      responses: {
        200: { description: 'What was found', schema: s.analysis },
        400: refused,
        404: noDataset,
        503: { description: 'Too many analyses in progress, or no native addon', schema: errorBody },
      },
      handle: async ({ params, body, exchange }) => {
        const { model_name, max_seq_length, validation_dataset } = body;
        const wanted = {
          modelName: model_name ?? null,
          maxSeqLength: max_seq_length ?? null,
          validationDataset: validation_dataset ?? null,
        };
        return presentAnalysis(await datasetAnalysis.analyse(params.name, wanted, exchange.signal));
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
        503: { description: 'Too many uploads in progress', schema: errorBody },
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
      responses: { 200: { description: 'The dataset was deleted', schema: confirmation }, 404: noDataset },
      handle: async ({ params }) => {
        await datasets.remove(params.name);
        return { status: 'deleted', message: `Dataset ${params.name} was deleted` };
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
    route({
      method: 'GET',
      path: '/api/examples',
      tag,
      summary: 'List the built-in example datasets, each with a recommended model',
      responses: { 200: { description: 'The examples', schema: s.examples } },
      handle: async () => ({ examples: (await examples.list()).map(presentExample) }),
    }),
    route({
      method: 'POST',
      path: '/api/examples/{name}',
      tag,
      summary: 'Add an example to the datasets',
      responses: {
        200: { description: 'The name of the dataset', schema: s.usedExample },
        404: { description: 'Example not found', schema: errorBody },
      },
      handle: async ({ params }) => ({ filename: (await examples.use(params.name)).name }),
    }),
  ];
}
