import type { BinEntry } from '../../../domain/bin/bin.ts';
import type { Services } from '../../../domain/services.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { confirmation, errorBody, tag } from '../common.ts';
import * as s from './schemas.ts';

const noEntry: ResponseDoc = { description: 'Not in the bin', schema: errorBody };

/** What was deleted and can be restored. */
export function binRoutes({ bin }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/bin',
      tag,
      summary: 'List what was deleted and can be restored, the latest first',
      responses: { 200: { description: 'The bin', schema: s.bin } },
      handle: async () => ({
        entries: bin.list().map(present),
        size_bytes: bin.bytes(),
        limit_bytes: await bin.limitBytes(),
      }),
    }),
    route({
      method: 'POST',
      path: '/api/bin/{id}/restore',
      tag,
      summary: 'Restore something; a model whose name was given again gets one with a number',
      responses: {
        200: { description: 'It is back', schema: s.restored },
        404: noEntry,
        409: { description: 'A dataset or chat has its name again', schema: errorBody },
      },
      handle: ({ params }) => {
        const entry = bin.restore(params.id);
        return { status: 'restored' as const, message: `${entry.name} was restored`, entry: present(entry) };
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/bin/{id}',
      tag,
      summary: 'Delete something in the bin for good',
      responses: { 200: { description: 'It was deleted', schema: confirmation }, 404: noEntry },
      handle: async ({ params }) => {
        const { name } = await bin.purge(params.id);
        return { status: 'deleted', message: `${name} was deleted for good` };
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/bin',
      tag,
      summary: 'Delete everything in the bin for good',
      responses: { 200: { description: 'The bin is empty', schema: confirmation } },
      handle: async () => {
        await bin.empty();
        return { status: 'deleted', message: 'The bin is empty' };
      },
    }),
  ];
}

const present = ({ bytes, deletedAt, expiresAt, ...entry }: BinEntry) => ({
  ...entry,
  size_bytes: bytes,
  deleted_at: deletedAt,
  expires_at: expiresAt,
});
