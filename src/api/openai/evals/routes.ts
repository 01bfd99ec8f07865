import type { Criterion } from '../../../domain/evals/criteria.ts';
import { evalObject } from '../../../domain/evals/objects.ts';
import type { Services } from '../../../domain/services.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { error } from '../schemas.ts';
import { evalPage, pageAsked } from './eval-page.ts';
import { evalExample } from './examples.ts';
import * as s from './schemas.ts';

const tag = 'openai';
const refused: ResponseDoc = { description: 'Invalid request', schema: error };
const noEval: ResponseDoc = { description: 'Eval not found', schema: error };
const path = '/v1/evals/{eval_id}' as const;

/** `/v1/evals`: what is to be tested of answers, and by which graders. */
export function evalRoutes({ evals }: Services) {
  return [
    route({
      method: 'POST',
      path: '/v1/evals',
      tag,
      summary: 'Create an eval: the schema of its rows, and the graders of answers to them',
      body: s.createBody,
      bodyExample: {
        name: evalExample.name,
        data_source_config: {
          type: 'custom',
          item_schema: evalExample.data_source_config.schema.properties.item,
          include_sample_schema: true,
        },
        testing_criteria: evalExample.testing_criteria,
      },
      responses: {
        200: { description: 'The eval', schema: evalObject },
        400: refused,
        403: { description: 'Clients on other machines may not define such a grader', schema: error },
      },
      handle: ({ body, exchange: { peer, signal } }) =>
        evals.create(
          {
            name: body.name ?? '',
            metadata: body.metadata ?? null,
            itemSchema: body.data_source_config.item_schema,
            includesSample: body.data_source_config.include_sample_schema ?? false,
            criteria: body.testing_criteria as Criterion[],
          },
          peer,
          signal,
        ),
    }),
    route({
      method: 'GET',
      path: '/v1/evals',
      tag,
      summary: 'List the evals',
      query: s.evalQuery,
      responses: { 200: { description: 'The evals', schema: s.evals }, 400: refused },
      handle: ({ query }) => evalPage(query, evals.list({ ...pageAsked(query), orderBy: query.order_by })),
    }),
    route({
      method: 'GET',
      path,
      tag,
      summary: 'Get an eval',
      responses: { 200: { description: 'The eval', schema: evalObject }, 404: noEval },
      handle: ({ params }) => evals.get(params.eval_id),
    }),
    route({
      method: 'POST',
      path,
      tag,
      summary: 'Change the name or the metadata of an eval',
      body: s.updateBody,
      bodyExample: { name: 'Labels of tickets' },
      responses: { 200: { description: 'The eval', schema: evalObject }, 400: refused, 404: noEval },
      handle: ({ params, body: { name, metadata } }) =>
        evals.update(params.eval_id, {
          ...(name == null ? {} : { name }),
          ...(metadata === undefined ? {} : { metadata }),
        }),
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      summary: 'Delete an eval with its runs',
      responses: { 200: { description: 'The eval was deleted', schema: s.deletedEval }, 404: noEval },
      async handle({ params: { eval_id } }) {
        await evals.remove(eval_id);
        return { object: 'eval.deleted' as const, deleted: true as const, eval_id };
      },
    }),
  ];
}
