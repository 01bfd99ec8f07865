import * as v from 'valibot';
import type { SocketDoc } from '../../../http/openapi.ts';
import { frameSchemas } from './schemas.ts';

/** The service's only WebSocket. */
export const trainingSocket: SocketDoc = {
  path: '/ws/training',
  summary:
    'Training events as JSON text frames: a snapshot, then with `since` the stored frames after that seq, then live frames; with `batches` each message is an array of frames',
  query: v.object({
    since: v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/))),
    batches: v.optional(v.literal('true')),
  }),
  frames: frameSchemas,
};
