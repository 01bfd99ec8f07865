import * as v from 'valibot';
import { exportOutcome } from '../../domain/job-record/job.ts';

/** A field that may be absent or null. */
export const or = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema));
/** A field of OpenAI's that would change the answer, but is not supported. */
export const unsupported = (what: string) => v.optional(v.null(`${what} not supported; leave it out`));
/** valibot's `object` also accepts arrays. */
export const notList = v.custom<object>((value) => !Array.isArray(value), 'must be an object');
export const modelName = v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024));

export const model = v.object({
  id: v.string(),
  object: v.string(),
  created: v.number(),
  owned_by: v.string(),
  /** Hone's own: what became of its GGUF files; absent from checkpoints. */
  export: v.optional(exportOutcome),
});
export const models = v.object({ object: v.string(), data: v.array(model) });
export const error = v.object({
  error: v.object({
    message: v.string(),
    type: v.string(),
    param: v.nullable(v.string()),
    code: v.nullable(v.string()),
  }),
});
