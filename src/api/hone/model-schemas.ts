import * as v from 'valibot';
import { exportStates } from '../../contract/journal.ts';
import { quantizationTypes } from '../../contract/quantizations.ts';
import { exportOutcome, verification } from '../../domain/job-record/job.ts';
import {
  generationDefaults,
  lengthBound,
  promptBound,
  temperatureBound,
  topPBound,
} from '../../domain/playground/generation-bounds.ts';
import { exportTaskFields } from './frame-schemas.ts';
import { identity } from './identity-schemas.ts';

const bytes = v.number();
export const generateBody = v.object({
  model_id: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
  prompt: promptBound,
  max_length: v.optional(lengthBound, generationDefaults.maxTokens),
  temperature: v.optional(temperatureBound, generationDefaults.temperature),
  top_p: v.optional(topPBound, generationDefaults.topP),
});

export const generated = v.object({
  generated_text: v.string(),
  prompt: v.string(),
  tokens_generated: v.pipe(v.number(), v.integer()),
  generation_time_ms: v.pipe(v.number(), v.integer()),
});
const type = v.picklist(quantizationTypes, `must be one of ${quantizationTypes.join(', ')}`);
export const quantizeBody = v.object({ type });
export const exportBody = v.strictObject({
  quantizations: v.pipe(
    v.array(type),
    v.minLength(1, 'must name at least one type'),
    v.check((types) => new Set(types).size === types.length, 'must name each type once'),
  ),
});
export const modelExport = v.object({
  state: v.picklist(exportStates),
  code: v.nullable(v.string()),
  reason: v.nullable(v.string()),
  advice: v.nullable(v.string()),
  /** Those that there are, and those that the latest export failed to make. */
  files: v.array(
    v.object({
      quantization: v.string(),
      state: v.picklist(['done', 'failed']),
      reason: v.nullable(v.string()),
      /** Its name among the model's files; `null` if there is none of this type. */
      name: v.nullable(v.string()),
      bytes: v.nullable(bytes),
      /** Whether the file passed its verification; `null` if it was not verified. */
      verified: v.nullable(v.boolean()),
      /** What the type costs: the loss on held-out rows, relative to the trained model's in float32 (0.003 is 0.3 %). */
      loss_increase: v.nullable(v.number()),
      /** The mean Kullback-Leibler divergence from the trained model, in nats. */
      mean_kl: v.nullable(v.number()),
      /** How often the likeliest token is the trained model's. */
      agreement: v.nullable(v.number()),
    }),
  ),
  underway: v.nullable(v.object(exportTaskFields)),
});
export const told = v.object({ status: v.string(), message: v.string() });
export const files = v.object({ files: v.array(v.object({ name: v.string(), bytes })) });

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
          bytes,
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
export const lineage = v.object({
  model_id: v.string(),
  id: v.number(),
  name: v.string(),
  base_model: v.string(),
  task: v.string(),
  provider: v.string(),
  strategy: v.string(),
  created_at: v.string(),
  dataset: v.string(),
  /** `null` after the job was deleted. */
  job_id: v.nullable(v.string()),
  ...identity,
  settings: v.record(v.string(), v.unknown()),
  metrics: v.record(v.string(), v.nullable(v.number())),
  verification: v.nullable(verification),
  /** What became of its GGUF files. */
  export: exportOutcome,
  /** Whether it was trained with its own chat template and supports conversations. */
  chat_template: v.boolean(),
  files: v.array(
    v.object({
      name: v.string(),
      bytes,
      kind: v.nullable(v.string()),
      quantization: v.nullable(v.string()),
      /** Whether the file passed its verification; `null` if it was not verified. */
      verified: v.nullable(v.boolean()),
    }),
  ),
});
