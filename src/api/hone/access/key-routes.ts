import type { Services } from '../../../domain/services.ts';
import { route } from '../../../http/route.ts';
import { confirmation, errorBody, tag } from '../common.ts';
import { presentKey } from './presenters.ts';
import * as s from './schemas.ts';

/** Access keys: added, listed and removed. */
export function keyRoutes({ accessKeys, budgets: { usedBy } }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/keys',
      tag,
      summary: 'List the access keys, newest first; HONE_ACCESS_KEY is not among them',
      responses: { 200: { description: 'The keys', schema: s.keys } },
      handle: () => ({ keys: accessKeys.list().map((key) => presentKey(key, usedBy)) }),
    }),
    route({
      method: 'POST',
      path: '/api/keys',
      tag,
      summary: 'Add an access key; the response has the key itself, which cannot be read again',
      body: s.keyBody,
      bodyExample: { name: 'laptop', scope: 'full' },
      responses: {
        200: { description: 'The key was added', schema: s.newKey },
        409: { description: 'There are as many keys as possible', schema: errorBody },
      },
      handle: ({ body }) => {
        const { key, record } = accessKeys.add(body);
        return { ...presentKey(record, usedBy), key };
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/keys/{id}',
      tag,
      summary: 'Keep the answers to the requests of an access key, or no longer',
      body: s.recordingBody,
      bodyExample: { recording: true },
      responses: {
        200: { description: 'The key', schema: s.key },
        404: { description: 'Key not found', schema: errorBody },
      },
      handle: ({ params, body }) => presentKey(accessKeys.setRecording(params.id, body.recording), usedBy),
    }),
    route({
      method: 'DELETE',
      path: '/api/keys/{id}',
      tag,
      summary: 'Remove an access key and end its sessions',
      responses: {
        200: { description: 'The key was removed', schema: confirmation },
        404: { description: 'Key not found', schema: errorBody },
      },
      handle: ({ params }) => {
        accessKeys.remove(params.id);
        return { status: 'deleted', message: `Access key ${params.id} was removed` };
      },
    }),
  ];
}
