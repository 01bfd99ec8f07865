import type { Services } from '../../../domain/services.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { confirmation, errorBody, refused, tag } from '../common.ts';
import { makingRequest, presentEstimate, presentMaking } from './presenters.ts';
import * as s from './schemas.ts';

const making = { description: 'The making', schema: s.making } as const;
const noMaking: ResponseDoc = { description: 'Making not found', schema: errorBody };
const notReady: ResponseDoc = { description: 'It is in another state', schema: errorBody };
const unknown: ResponseDoc = {
  description: 'A document, model, grader or dataset was not found',
  schema: errorBody,
};

const bodyExample = {
  name: 'handbook',
  kind: 'question-answer',
  model: 'base:HuggingFaceTB/SmolLM2-135M-Instruct',
  max_rows: 200,
};

/** Datasets that are made by asking a model about documents. */
export function documentRowRoutes({ documents, documentRows }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/document_rows/estimate',
      tag,
      summary: 'Say how many passages a making of rows would ask about, and how many tokens that takes',
      body: s.makingBody,
      bodyExample,
      responses: {
        200: { description: 'The estimate', schema: s.estimate },
        400: refused,
        404: unknown,
      },
      handle: async ({ body, exchange }) =>
        presentEstimate(await documentRows.estimate(makingRequest(body, documents), () => exchange.aborted)),
    }),
    route({
      method: 'POST',
      path: '/api/document_rows',
      tag,
      summary: 'Make a dataset by asking a model about documents, or variants of the rows of another dataset',
      body: s.makingBody,
      bodyExample,
      responses: {
        200: making,
        400: refused,
        404: unknown,
        409: { description: 'Too many are kept', schema: errorBody },
        429: { description: 'Too many wait', schema: errorBody },
      },
      handle: async ({ body, exchange }) =>
        presentMaking(await documentRows.start(makingRequest(body, documents), () => exchange.aborted)),
    }),
    route({
      method: 'GET',
      path: '/api/document_rows',
      tag,
      summary: 'List makings of rows, the newest first',
      responses: { 200: { description: 'The makings', schema: s.makingList } },
      handle: () => ({ makings: documentRows.list().map(presentMaking) }),
    }),
    route({
      method: 'GET',
      path: '/api/document_rows/{making_id}',
      tag,
      summary: 'Get a making of rows with its progress',
      responses: { 200: making, 404: noMaking },
      handle: ({ params }) => presentMaking(documentRows.get(params.making_id)),
    }),
    route({
      method: 'POST',
      path: '/api/document_rows/{making_id}/stop',
      tag,
      summary: 'Stop a making of rows; what was made so far is written',
      responses: { 200: making, 404: noMaking, 409: notReady },
      handle: async ({ params }) => presentMaking(await documentRows.stop(params.making_id)),
    }),
    route({
      method: 'POST',
      path: '/api/document_rows/{making_id}/resume',
      tag,
      summary: 'Go on with a making of rows that was stopped or failed; nothing is asked twice',
      responses: { 200: making, 404: noMaking, 409: notReady },
      handle: ({ params }) => presentMaking(documentRows.resume(params.making_id)),
    }),
    route({
      method: 'DELETE',
      path: '/api/document_rows/{making_id}',
      tag,
      summary: 'End a making of rows and forget it; its datasets stay',
      responses: { 200: { description: 'It was deleted', schema: confirmation }, 404: noMaking },
      handle: async ({ params }) => {
        await documentRows.remove(params.making_id);
        return { status: 'deleted', message: `Making ${params.making_id} was deleted` };
      },
    }),
  ];
}
