import * as v from 'valibot';
import { toolsFault } from '../common.ts';

const problem = v.object({ kind: v.picklist(['invalid', 'forbidden', 'upstream']), message: v.string() });
export type Problem = v.InferOutput<typeof problem>;
export const localModels = v.object({
  models: v.array(
    v.object({
      model: v.string(),
      kind: v.picklist(['starter', 'hub', 'folder', 'gguf']),
      /** The name by which it is asked before anything is trained (`base:…`); `null` if it writes no text. */
      answers_as: v.nullable(v.string()),
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
      /** What it takes on the disk. */
      bytes: v.number(),
      parameters: v.nullable(v.number()),
      /** What a training takes with the recommended settings; `null` if its size is not known. */
      memory_bytes: v.nullable(v.number()),
      /** Whether this machine has as much memory. */
      fits: v.nullable(v.boolean()),
      /** When a run of it was last started; `null` if none of the newest was. */
      last_used: v.nullable(v.string()),
    }),
  ),
});
const hubName = v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024));
export const hubModelBody = v.strictObject({ model: hubName });
export const hubModelQuery = v.object({ model: hubName });
export const modelDownload = v.object({
  id: v.string(),
  model: v.string(),
  state: v.picklist(['running', 'completed', 'failed']),
  /** From 0 to 1; 0 while `total_bytes` is not known. */
  progress: v.number(),
  done_bytes: v.number(),
  /** `null` until the sizes of all files are known. */
  total_bytes: v.nullable(v.number()),
  error: v.nullable(v.string()),
});
export const modelDownloads = v.object({ downloads: v.array(modelDownload) });
export const answersQuery = v.object({
  name: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
});
export const answers = v.object({
  name: v.string(),
  /** Whether it is asked with its own chat template. */
  chat_template: v.boolean(),
  /** The most tokens of a prompt and its answer; `null` if it is not known. */
  context_length: v.nullable(v.number()),
  tools_fault: toolsFault,
  /** Whether llama.cpp answers, from its GGUF file, or else the trainer's libraries. */
  gguf: v.boolean(),
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
  /** Where the token was set; `null` if there is none. */
  token_from: v.nullable(v.picklist(['environment', 'settings'])),
});
/** Without spaces and line breaks, so that it is one header's value. */
export const hubTokenBody = v.strictObject({
  token: v.pipe(
    v.string(),
    v.trim(),
    v.minLength(1, 'must not be empty'),
    v.maxLength(512),
    v.regex(/^[\x21-\x7e]*$/, 'must be a token of the hub, such as hf_…'),
  ),
});
