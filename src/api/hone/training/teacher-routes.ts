import type { Services } from '../../../domain/services.ts';
import { route } from '../../../http/route.ts';
import { errorBody, refused, tag } from '../common.ts';
import * as s from './schemas.ts';

/** Who may teach with the strategy `distill`. */
export function teacherRoutes({ teachers }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/teachers',
      tag,
      access: 'train',
      summary: 'List what may teach a model (strategy distill), and why others may not',
      query: s.teachersQuery,
      paths: { model_name: 'model' },
      responses: {
        200: { description: 'The models, those that may teach first', schema: s.teachers },
        400: refused,
        404: { description: 'The model is not here', schema: errorBody },
      },
      handle: async ({ query }) => ({ teachers: await teachers.list(query.model_name) }),
    }),
  ];
}
