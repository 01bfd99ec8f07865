import type { Services } from '../../../domain/services.ts';
import { AppError } from '../../../errors.ts';
import { route } from '../../../http/route.ts';
import { errorBody, refused, tag } from '../common.ts';
import { makeRows, presentAlike } from './make-rows.ts';
import { presentDetail, presentSummary } from './presenters.ts';
import * as s from './schemas.ts';

const dayMs = 86_400_000;
/** As many rows are masked to show what would be. */
const previewedRows = 50;

/** The answers that clients asked to keep, as the page shows them; `/v1/chat/completions` changes and deletes them. */
export function trafficRoutes({ accessKeys, datasets, masking, traffic }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/traffic',
      tag,
      summary: 'List kept answers, newest first, with the last question of each',
      query: s.listQuery,
      responses: { 200: { description: 'The answers', schema: s.list }, 400: refused },
      handle: ({ query }) => {
        const found = traffic.list({ ...query, order: 'desc' });
        if (found === null) {
          const msg = 'is no kept answer; use the ID of the last one of the page before';
          throw new AppError('invalid', msg, {
            issues: [{ loc: ['query', 'after'], msg, type: 'value_error' }],
          });
        }
        return { answers: found.answers.map(presentSummary), has_more: found.hasMore };
      },
    }),
    route({
      method: 'GET',
      path: '/api/traffic/facets',
      tag,
      summary: 'Say how many answers are kept of each model, how large they are, and how long they are kept',
      responses: { 200: { description: 'The numbers', schema: s.kept } },
      handle: () => {
        const { models, keepMs, keepBytes } = traffic.kept();
        const sum = (figure: 'answers' | 'bytes') => models.reduce((all, one) => all + one[figure], 0);
        return {
          answers: sum('answers'),
          size_bytes: sum('bytes'),
          models: models.map(({ model, answers }) => ({ value: model, count: answers })),
          days: keepMs / dayMs,
          limit_bytes: keepBytes,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/traffic/{completion_id}',
      tag,
      summary: 'Get a kept answer with its conversation and the key that asked',
      responses: {
        200: { description: 'The answer', schema: s.detail },
        404: { description: 'Answer not found', schema: errorBody },
      },
      handle: ({ params }) =>
        presentDetail(
          traffic.get(undefined, params.completion_id),
          (id) => accessKeys.list().find((key) => key.id === id)?.name ?? null,
        ),
    }),
    route({
      method: 'POST',
      path: '/api/traffic/rows',
      tag,
      summary: 'Count the rows that kept answers would make, and the answers that would make none',
      body: s.rowsBody,
      bodyExample: { kind: 'preference', rating: 'corrected' },
      responses: {
        200: { description: 'The numbers', schema: s.rowCounts },
        400: refused,
        404: { description: 'Validation dataset not found', schema: errorBody },
        409: s.noMasking,
      },
      handle: async ({ body, exchange }) => {
        const made = await makeRows({ datasets, masking, traffic }, body, exchange, previewedRows);
        const { rows, skipped, masked } = made;
        return { rows: rows.length, skipped, ...presentAlike(made), masked };
      },
    }),
  ];
}
