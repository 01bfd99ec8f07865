import * as v from 'valibot';
import { quantizationTypes } from '../../../contract/models/quantizations.ts';
import { profiles } from '../../../contract/profiles.ts';
import { rowShapeNames } from '../../../contract/rows.ts';

const bytes = v.number();
export const estimate = v.object({
  parameters: v.nullable(v.number()),
  precision: v.string(),
  simple_gb: v.nullable(v.record(v.string(), v.number())),
  memory: v.nullable(
    v.object({
      weights_bytes: bytes,
      adapter_bytes: bytes,
      optimizer_bytes: bytes,
      activations_bytes: bytes,
      logits_bytes: bytes,
      runtime_bytes: bytes,
      total_bytes: bytes,
    }),
  ),
  disk: v.nullable(
    v.object({
      download_bytes: bytes,
      checkpoints_bytes: bytes,
      export_bytes: bytes,
      /** What a teacher's answers take until the training ends, about; 0 without a teacher. */
      teacher_bytes: bytes,
      /** Reserved for the journal, log and TensorBoard. */
      spare_bytes: bytes,
      total_bytes: bytes,
    }),
  ),
  /** Optimizer steps, and the size of the validation part; `null` if the dataset was not uploaded. */
  steps: v.nullable(
    v.object({
      total: v.pipe(v.number(), v.integer()),
      /** Whether there may be more, because conversations or long texts may become several sequences each. */
      at_least: v.boolean(),
      held_out_rows: v.pipe(v.number(), v.integer()),
    }),
  ),
  /** By an earlier run of the same model here; `null` if there is none, or the dataset was not uploaded. */
  time: v.nullable(
    v.object({
      total_seconds: v.number(),
      train_seconds: v.number(),
      prepare_seconds: v.number(),
      export_seconds: v.number(),
      /** The job that it is told by. */
      basis: v.string(),
      /** Whether that job differed in more than the amount of work. */
      rough: v.boolean(),
    }),
  ),
  available: v.object({
    memory_bytes: bytes,
    memory_of: v.picklist(['gpu', 'ram']),
    /** Free, with what the bin would give back. */
    disk_bytes: v.nullable(bytes),
    /** What runs that are going will still take, by their own estimates; it is not in the two numbers. */
    other_runs: v.array(v.object({ job_id: v.string(), memory_bytes: bytes, disk_bytes: bytes })),
  }),
  fits: v.nullable(v.boolean()),
  advice: v.array(v.string()),
  /** The request with every default of this machine. */
  request: v.record(v.string(), v.unknown()),
});
const words = { name: v.string(), label: v.string(), description: v.string() };
export const choices = v.object({
  tasks: v.array(
    v.object({
      ...words,
      row_shape: v.picklist(rowShapeNames),
      /** Every shape that the task takes, `row_shape` first. */
      row_shapes: v.array(v.picklist(rowShapeNames)),
    }),
  ),
  strategies: v.array(
    v.object({
      ...words,
      /** `null` if the rows depend on the task. */
      row_shape: v.nullable(v.picklist(rowShapeNames)),
      tasks: v.array(v.string()),
    }),
  ),
  providers: v.array(v.object(words)),
  optimizers: v.array(v.string()),
  lr_scheduler_types: v.array(v.string()),
  quantizations: v.array(v.picklist(quantizationTypes)),
  /** The default if a request names none and llama.cpp supports the model. */
  default_quantizations: v.array(v.picklist(quantizationTypes)),
});
export const recommendationsQuery = v.object({
  task: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(64)),
  /** Defaults to this machine's profile. */
  profile: v.optional(v.picklist(profiles)),
});
export const recommendations = v.object({
  profile: v.picklist(profiles),
  recommendations: v.array(
    v.object({
      model: v.string(),
      why: v.string(),
      parameters_billion: v.number(),
      licence: v.string(),
      memory_bytes: v.number(),
    }),
  ),
});
export const teachersQuery = v.object({
  /** The model that learns, as `model_name` of a training names it. */
  model_name: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
});
export const teachers = v.object({
  teachers: v.array(
    v.object({
      /** As `teacher` of a training names it. */
      name: v.string(),
      kind: v.picklist(['model', 'base', 'remote']),
      /** Why it may not teach; `null` if it may. */
      reason: v.nullable(v.string()),
    }),
  ),
});
