import type { Services } from '../../../domain/services.ts';
import { route } from '../../../http/route.ts';
import { errorBody, tag } from '../common.ts';
import { presentExample } from './presenters.ts';
import * as s from './schemas.ts';

/** The built-in examples. */
export function exampleRoutes({ examples }: Services) {
  return [
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
