import type { Services } from '../../../domain/services.ts';
import { route } from '../../../http/route.ts';
import { errorBody, tag } from '../common.ts';
import * as s from './schemas.ts';

/** What a dataset on the hub offers to import. */
export function hubDatasetRoutes({ imports }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/hub/dataset',
      tag,
      summary: 'List the configurations and splits of a dataset on the hub that can be imported',
      query: s.hubDatasetQuery,
      paths: { repo: 'model' },
      responses: {
        200: { description: 'The dataset', schema: s.hubDataset },
        400: { description: 'Invalid request', schema: errorBody },
        403: { description: 'The dataset is missing, private or gated', schema: errorBody },
        404: { description: 'The dataset has no Parquet files', schema: errorBody },
        502: { description: 'The hub cannot be reached', schema: errorBody },
      },
      handle: async ({ query }) => {
        const { repo, gated, configs } = await imports.hubDataset(query.repo);
        return {
          repo,
          gated,
          configs: configs.map(({ name, splits }) => ({
            name,
            splits: splits.map((split) => ({
              name: split.name,
              files: split.files.length,
              size_bytes: split.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
            })),
          })),
        };
      },
    }),
  ];
}
