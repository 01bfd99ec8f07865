import type { Services } from '../../../domain/services.ts';
import { preview } from '../../../domain/training/previewer.ts';
import { trainingPaths } from '../../../domain/training/training-request.ts';
import { route } from '../../../http/route.ts';
import { errorBody, tag } from '../common.ts';
import { presentAnalysis } from './presenters.ts';
import { noDataset, refused } from './responses.ts';
import * as s from './schemas.ts';

/** How the rows of a dataset are encoded, and what is wrong with them. */
export function analysisRoutes({ datasetAnalysis, datasets, expectTraining, previewer }: Services) {
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
  ];
}
