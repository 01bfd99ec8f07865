import type { Services } from '../../../domain/services.ts';
import { preview } from '../../../domain/training/previewer.ts';
import { trainingPaths } from '../../../domain/training/training-request.ts';
import { route } from '../../../http/route.ts';
import { errorBody, refused, tag } from '../common.ts';
import { presentAnalysis, presentEdited } from './presenters.ts';
import { changed, diskFull, noDataset, tooManyUploads } from './responses.ts';
import * as s from './schemas.ts';

/** How the rows of a dataset are encoded, what is wrong with them, and how that is put right. */
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
      access: 'train',
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
      path: '/api/datasets/{name}/cleaning',
      tag,
      summary:
        'Put one finding of an analysis right in all rows, or remove rows by their flags, which makes a new version',
      body: s.cleaningBody,
      bodyExample: { version: '4f0c8f1f3a5f4a0e', fix: 'exact_duplicates' },
      responses: {
        200: { description: 'The new version', schema: s.cleaned },
        400: refused,
        404: noDataset,
        409: changed,
        503: tooManyUploads,
        507: diskFull,
      },
      handle: async ({ params, body: { version, fix }, exchange }) => {
        const { dataset, removed, changed, ...made } = await datasets.clean(
          params.name,
          version,
          fix,
          exchange.signal,
        );
        return { ...presentEdited(dataset, made.version), removed_rows: removed, changed_rows: changed };
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/datasets/{name}/cleaning',
      tag,
      summary:
        'Put back the rows before the last cleaning, unless they were changed since or the service has ended',
      responses: {
        200: { description: 'The former version', schema: s.edited },
        404: noDataset,
        409: changed,
      },
      handle: async ({ params }) => {
        const { dataset, version } = await datasets.takeBackCleaning(params.name);
        return presentEdited(dataset, version);
      },
    }),
  ];
}
