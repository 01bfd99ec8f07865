import type { Services } from '../../domain/services.ts';
import { type ResponseDoc, route } from '../../http/route.ts';
import { presentDatasetDetail, presentExample } from './presenters.ts';
import * as s from './schemas.ts';
import { tag } from './tag.ts';

const noDataset: ResponseDoc = { description: 'There is no such dataset', schema: s.error };
const refused: ResponseDoc = { description: 'The request is not valid', schema: s.error };

/** Datasets beyond uploading and listing them, and the examples that come with the service. */
export function datasetRoutes({ datasets, examples, planner, previewer }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/datasets/{name}/preview',
      tag,
      summary: 'What training would see of the first rows: tokens, which carry loss, what is cut off',
      body: s.previewBody,
      bodyExample: { task: 'text-generation', model_name: 'Qwen/Qwen3-0.6B', rows: 5 },
      responses: { 200: { description: 'The rows', schema: s.preview }, 400: refused, 404: noDataset },
      handle: async ({ params, body: { rows, ...request }, exchange }) => {
        const dataset = datasets.get(params.name).name;
        return previewer.preview({ ...request, dataset }, rows, exchange.signal);
      },
    }),
    route({
      method: 'GET',
      path: '/api/datasets/{name}',
      tag,
      summary: 'One dataset: its faults, its first rows, and whether it is large enough (for a model)',
      query: s.rowsQuery,
      responses: { 200: { description: 'The dataset', schema: s.dataset }, 404: noDataset },
      handle: async ({ params, query }) => {
        const dataset = datasets.get(params.name);
        const warnings = await planner.sizeWarnings(dataset.numExamples, query.model_name ?? null);
        return presentDatasetDetail(dataset, await datasets.firstRows(dataset.name, query.rows), warnings);
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/datasets/{name}',
      tag,
      summary: 'Delete a dataset; jobs keep the rows that they train on',
      responses: { 200: { description: 'The dataset is deleted', schema: s.deleted }, 404: noDataset },
      handle: async ({ params }) => {
        await datasets.remove(params.name);
        return { status: 'deleted', message: `Dataset ${params.name} has been deleted` };
      },
    }),
    route({
      method: 'POST',
      path: '/api/datasets/{name}/convert',
      tag,
      summary: 'Write rows of another tool’s shape (Alpaca, messages, ShareGPT) anew as input and output',
      responses: {
        200: { description: 'The new dataset', schema: s.dataset },
        400: { description: 'There is nothing to convert', schema: s.error },
        404: noDataset,
      },
      handle: async ({ params }) => {
        const dataset = await datasets.convert(params.name);
        const warnings = await planner.sizeWarnings(dataset.numExamples, null);
        return presentDatasetDetail(dataset, await datasets.firstRows(dataset.name, 20), warnings);
      },
    }),
    route({
      method: 'GET',
      path: '/api/examples',
      tag,
      summary: 'Small datasets that come with the service, each with a model to train on it here',
      responses: { 200: { description: 'The examples', schema: s.examples } },
      handle: async () => ({ examples: (await examples.list()).map(presentExample) }),
    }),
    route({
      method: 'POST',
      path: '/api/examples/{name}',
      tag,
      summary: 'Put an example among the datasets',
      responses: {
        200: { description: 'The name of the dataset', schema: s.usedExample },
        404: { description: 'There is no such example', schema: s.error },
      },
      handle: async ({ params }) => ({ filename: (await examples.use(params.name)).name }),
    }),
  ];
}
