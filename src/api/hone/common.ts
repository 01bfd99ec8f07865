import * as v from 'valibot';
import type { ResponseDoc } from '../../http/route.ts';

/** The heading of our own routes in the OpenAPI document. */
export const tag = 'hone';

export const errorBody = v.object({ error: v.string(), detail: v.string(), status_code: v.number() });

/** What most routes answer to a request that is not valid. */
export const refused: ResponseDoc = { description: 'Invalid request', schema: errorBody };

/** What was done, in a word and in a sentence. */
export const confirmation = v.object({ status: v.string(), message: v.string() });

/** What was deleted, and what restores it with `POST /api/bin/{id}/restore`: null if it was deleted for good. */
export const deletion = v.object({ ...confirmation.entries, bin_id: v.nullable(v.string()) });

/** Why the chat template takes no tools; `null` if it takes them, or is not known. */
export const toolsFault = v.nullable(v.string());

/** valibot's `looseObject` and `record` also accept arrays. */
export const notList = v.custom<object>((value) => !Array.isArray(value), 'must be an object');
