import * as v from 'valibot';

const problem = v.object({ kind: v.picklist(['invalid', 'forbidden', 'upstream']), message: v.string() });
export type Problem = v.InferOutput<typeof problem>;
export const localModels = v.object({
  models: v.array(
    v.object({
      model: v.string(),
      kind: v.picklist(['starter', 'hub', 'folder', 'gguf']),
      /** `null` for models that are no GGUF files. */
      gguf: v.nullable(
        v.object({
          name: v.string(),
          program: v.string(),
          bytes: v.number(),
          architecture: v.string(),
          quantization: v.nullable(v.string()),
        }),
      ),
    }),
  ),
});
export const checkedModelBody = v.strictObject({
  model: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
  /** As a training would merge its adapter. */
  merge_adapter: v.optional(v.nullable(v.boolean())),
});
/** `hub` is `null` for a local folder; its numbers are if only the cache is available. */
export const checkedModel = v.object({
  usable: v.boolean(),
  problem: v.nullable(problem),
  hub: v.nullable(v.object({ downloads: v.nullable(v.number()), likes: v.nullable(v.number()) })),
  /** What is to be known before its training, such as that only its text part is trained. */
  notes: v.array(v.string()),
  /** Where the adapter is that `merge_adapter` would merge: alone in the folder, or beside weights. */
  adapter: v.nullable(v.picklist(['alone', 'beside'])),
});
export const hubAccount = v.object({
  name: v.nullable(v.string()),
  organizations: v.array(v.string()),
  /** Why nothing can be pushed. */
  problem: v.nullable(problem),
});
