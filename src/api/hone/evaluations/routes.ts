import type * as v from 'valibot';
import { deletionQuery } from '../../../domain/bin/deletion-query.ts';
import { answerPairs } from '../../../domain/evaluations/answer-pairs.ts';
import {
  evaluationExample,
  evaluationPaths,
  evaluationRequest,
} from '../../../domain/evaluations/evaluation-request.ts';
import type { Services } from '../../../domain/services.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { deletion, errorBody, refused, tag } from '../common.ts';
import { evaluationNumber, presentDetail, presentEvaluation } from './presenters.ts';
import * as s from './schemas.ts';

const noEvaluation: ResponseDoc = { description: 'Evaluation not found', schema: errorBody };

/** Evaluations: datasets that are scored with a model, a checkpoint or a base model. */
export function evaluationRoutes({ evaluations, graders }: Services) {
  const detail = (id: number) => presentDetail(evaluations, id);
  return [
    route({
      method: 'POST',
      path: '/api/evaluations',
      tag,
      summary: 'Score a dataset with a model, a checkpoint or a base model',
      body: evaluationRequest,
      paths: evaluationPaths,
      moreFaults: evaluations.faults,
      bodyExample: evaluationExample,
      responses: {
        200: { description: 'The evaluation is queued or running', schema: s.evaluation },
        400: { description: 'Invalid request or dataset', schema: errorBody },
        404: { description: 'Model not found', schema: errorBody },
        409: { description: 'The queue is full', schema: errorBody },
      },
      handle: async ({ body }) => detail((await evaluations.start(body)).id),
    }),
    route({
      method: 'POST',
      path: '/api/evaluations/pairs',
      tag,
      summary: 'Ask a judge, in both orders, which of two evaluations has the better answers',
      body: s.pairsRequest,
      bodyExample: { evaluations: ['eval_1', 'eval_2'], judge: 'helpful', criteria: 'It is shorter.' },
      responses: {
        200: { description: 'How often each one is better, and the pairs', schema: s.pairs },
        400: refused,
        404: { description: 'Evaluation or grader not found', schema: errorBody },
      },
      async handle({ body, exchange }) {
        const rows = answerPairs(evaluations, body.evaluations.map(evaluationNumber), body.rows);
        const { summary, pairs } = await graders.prefer(
          body.judge,
          body.criteria ?? null,
          rows,
          exchange.signal,
        );
        const told = rows.map(({ line, request }, at) => ({ line, prompt: request, ...pairs[at] }));
        return { summary, pairs: told as v.InferOutput<typeof s.pairs>['pairs'] };
      },
    }),
    route({
      method: 'GET',
      path: '/api/evaluations',
      tag,
      access: 'train',
      summary: 'List the evaluations, newest first',
      responses: { 200: { description: 'The evaluations', schema: s.evaluationList } },
      handle: () => ({ evaluations: evaluations.list().map(presentEvaluation) }),
    }),
    route({
      method: 'GET',
      path: '/api/evaluations/{evaluation_id}',
      tag,
      access: 'train',
      summary: 'Get an evaluation with the results of its first rows',
      responses: { 200: { description: 'The evaluation', schema: s.evaluation }, 404: noEvaluation },
      handle: ({ params }) => detail(evaluationNumber(params.evaluation_id)),
    }),
    route({
      method: 'DELETE',
      path: '/api/evaluations/{evaluation_id}',
      tag,
      summary: 'Delete an evaluation; one that is queued or running is cancelled',
      query: deletionQuery,
      responses: {
        200: { description: 'The evaluation was deleted', schema: deletion },
        404: noEvaluation,
      },
      handle: async ({ params, query }) => {
        const binId = await evaluations.remove(evaluationNumber(params.evaluation_id), query.permanently);
        return { status: 'deleted', message: `${params.evaluation_id} was deleted`, bin_id: binId };
      },
    }),
  ];
}
