import * as v from 'valibot';
import {
  blendBound,
  generationDefaults,
  lengthBound,
  promptBound,
  scaleBound,
  stepBound,
  temperatureBound,
  topPBound,
} from '../../domain/playground/generation-bounds.ts';

const integer = v.pipe(v.number(), v.integer());

export const generateBody = v.object({
  model_id: v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(1, 'must be at least 1')),
  prompt: promptBound,
  max_new_tokens: v.optional(lengthBound, generationDefaults.maxTokens),
  temperature: v.optional(temperatureBound, generationDefaults.temperature),
  top_p: v.optional(topPBound, generationDefaults.topP),
  /** Answer with the weights of this step of the model's training. */
  checkpoint: v.optional(stepBound),
  /** The strength of what the training changed: 0 is the base model. */
  scale: v.optional(scaleBound),
  /** Adds the change of another model of the same base. */
  blend: v.optional(blendBound),
});

export const info = v.object({
  providers: v.array(v.string()),
  strategies: v.array(v.string()),
  tasks: v.array(v.string()),
  version: v.string(),
  /** The folder of datasets, runs, models and the database; `null` for clients on other machines. */
  data_dir: v.nullable(v.string()),
  availability: v.array(
    v.object({ provider: v.string(), available: v.boolean(), reason: v.nullable(v.string()) }),
  ),
  /** How the workers of a training can run: as one process, on this machine, on the machines of a cluster. */
  engines: v.array(v.object({ engine: v.string(), available: v.boolean(), reason: v.nullable(v.string()) })),
  http: v.object({ engine: v.string(), description: v.string(), reason: v.nullable(v.string()) }),
  /** The most trainings at once, if more than one. */
  parallel: v.optional(v.number()),
  database_notice: v.optional(v.string()),
  /** The cluster for runs with several workers, if one was given (`--cluster`). */
  cluster: v.optional(
    v.object({
      address: v.string(),
      available: v.boolean(),
      /** Why it cannot be used. */
      reason: v.nullable(v.string()),
      /** When its head was asked (ISO 8601); `null` before the first answer. */
      asked_at: v.nullable(v.string()),
      nodes: v.array(
        v.object({
          address: v.string(),
          cpus: integer,
          gpus: integer,
          free_cpus: integer,
          free_gpus: integer,
        }),
      ),
    }),
  ),
});
export const health = v.object({ status: v.string(), version: v.string() });
export const started = v.object({ status: v.string(), job_id: v.string(), message: v.string() });
export const status = v.object({
  status: v.picklist(['idle', 'training', 'completed', 'error', 'stopped']),
  progress: v.number(),
  current_epoch: v.nullable(integer),
  total_epochs: v.nullable(integer),
  current_step: v.nullable(integer),
  total_steps: v.nullable(integer),
  loss: v.nullable(v.number()),
  learning_rate: v.nullable(v.number()),
  message: v.string(),
  error: v.nullable(v.string()),
});
export const stopped = v.object({ status: v.string(), message: v.string() });
export const listedModel = v.object({
  id: integer,
  name: v.string(),
  base_model: v.string(),
  task: v.string(),
  created_at: v.string(),
  size_mb: v.number(),
});
export const models = v.object({ models: v.array(listedModel) });
export const detailedModel = v.object({
  ...listedModel.entries,
  provider: v.string(),
  strategy: v.string(),
  training_params: v.object({
    num_epochs: v.nullable(v.number()),
    batch_size: v.nullable(v.number()),
    learning_rate: v.nullable(v.number()),
  }),
  metrics: v.looseObject({ final_loss: v.nullable(v.number()), perplexity: v.nullable(v.number()) }),
});
export const uploaded = v.object({
  status: v.string(),
  filename: v.string(),
  num_examples: integer,
  validation: v.object({
    valid: v.boolean(),
    errors: v.array(v.string()),
    total_errors: integer,
    shape: v.nullable(v.string()),
    /** Structured errors with the line (from 1) and field, if any. */
    details: v.array(
      v.object({ line: v.nullable(integer), field: v.nullable(v.string()), message: v.string() }),
    ),
    warnings: v.array(v.string()),
  }),
});
export const datasets = v.object({
  datasets: v.array(
    v.object({
      filename: v.string(),
      num_examples: integer,
      size_mb: v.number(),
      uploaded_at: v.string(),
      valid: v.boolean(),
      shape: v.nullable(v.string()),
      /** The names that it had before. */
      former_names: v.array(v.string()),
      /** In how many rows something was found when it was stored, such as a duplicate; `null` while that is not known. */
      findings: v.nullable(integer),
    }),
  ),
});
export const generated = v.object({
  generated_text: v.string(),
  tokens_generated: integer,
  generation_time_ms: integer,
});
export const error = v.object({ error: v.string(), detail: v.string(), status_code: integer });
