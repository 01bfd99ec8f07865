import type { Services } from '../../../domain/services.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { errorBody, refused, tag } from '../common.ts';
import * as s from './schemas.ts';

const path = '/api/move/openai';
const busy: ResponseDoc = { description: 'A move is in progress', schema: errorBody };
const bodyExample = { api_key: 'sk-example' };

/** Moving the user's own fine-tuning files and jobs, and evals, from OpenAI. */
export function moveRoutes({ moving }: Services) {
  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'The move from OpenAI, and all files, jobs and evals that it brought',
      responses: { 200: { description: 'The move', schema: s.move } },
      handle: async () => moving.move() as Promise<s.Move>,
    }),
    route({
      method: 'POST',
      path: `${path}/list`,
      tag,
      summary: "List the files, fine-tuning jobs and evals of OpenAI's API without downloading any",
      body: s.listBody,
      bodyExample,
      responses: { 200: { description: 'The move', schema: s.move }, 400: refused, 409: busy },
      handle: async ({ body }) => moving.list(body.api_key) as Promise<s.Move>,
    }),
    route({
      method: 'POST',
      path,
      tag,
      summary: 'Start to download the training and validation files, and the evals, that are not here yet',
      body: s.startBody,
      bodyExample,
      responses: { 200: { description: 'The move started', schema: s.move }, 400: refused, 409: busy },
      handle: async ({ body }) =>
        moving.start(body.api_key, {
          jobs: body.jobs,
          files: body.files,
          evals: body.evals,
        }) as Promise<s.Move>,
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      summary: 'Cancel a move; what is stored is kept',
      responses: { 200: { description: 'The move', schema: s.move } },
      handle: async () => moving.cancel() as Promise<s.Move>,
    }),
  ];
}
