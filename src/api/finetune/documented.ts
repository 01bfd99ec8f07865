import type { ResponseDoc } from '../../http/route.ts';
import * as s from './schemas.ts';

/** What the operations of this set have in common in the API's description. */
export const tag = 'finetune';
export const modelIdExample = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
export const refused: ResponseDoc = { description: 'Invalid request', schema: s.error };
export const noModel: ResponseDoc = { description: 'Model not found', schema: s.error };
export const noAccess: ResponseDoc = {
  description: 'The model does not exist or is not accessible',
  schema: s.error,
};
export const noHub: ResponseDoc = { description: 'The model hub is unreachable', schema: s.error };
