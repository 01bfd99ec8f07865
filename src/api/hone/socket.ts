import * as v from 'valibot';
import type { SocketDoc } from '../../http/openapi.ts';
import { frameSchemas } from './frames.ts';

/** The one WebSocket of the service. */
export const trainingSocket: SocketDoc = {
  path: '/ws/training',
  summary:
    'How training goes, as JSON text frames: first a snapshot, then (with since) the stored frames after that seq, then what happens',
  query: v.object({ since: v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/))) }),
  frames: frameSchemas,
};
