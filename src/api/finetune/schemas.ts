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
import { settingsSchema } from '../../domain/training/training-request.ts';
import { about } from '../../http/openapi.ts';

const text = v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024));

export const taskBody = v.object({ task: text });
export const selectedModelBody = v.object({ selected_model: text });
export const repositoryBody = v.object({ repo_name: text });
export const pushBody = v.object({
  model_id: text,
  repo_name: text,
  private: about(v.optional(v.boolean(), true), 'Whether a new repository is private. Default: true.'),
});
export const modelPathQuery = v.object({ model_id: text });
export const generateBody = v.object({
  model_id: text,
  prompt: promptBound,
  max_length: v.optional(lengthBound, generationDefaults.maxTokens),
  temperature: v.optional(temperatureBound, generationDefaults.temperature),
  top_p: v.optional(topPBound, generationDefaults.topP),
  /** Answer with the weights of this step of the model's training. */
  checkpoint: v.optional(stepBound),
  /** The strength of what the training changed: 0 is the base model. */
  scale: v.optional(scaleBound),
  /** Adds the change of another model of the same base. */
  blend: v.optional(blendBound),
});

const optionalText = v.optional(v.string());

export const validatedTask = v.object({ valid: v.boolean(), task: v.string() });
export const validatedModel = v.object({ valid: v.boolean(), model: v.string() });
export const validatedCustomModel = v.object({
  valid: v.boolean(),
  repo_name: v.string(),
  model_info: v.object({
    id: v.string(),
    author: v.string(),
    downloads: v.pipe(v.number(), v.integer()),
    likes: v.pipe(v.number(), v.integer()),
  }),
});
export const detected = v.object({
  status_code: v.pipe(v.number(), v.integer()),
  profile: v.string(),
  task: v.string(),
  gpu_name: v.string(),
  gpu_total_memory_gb: v.number(),
  ram_total_gb: v.number(),
  available_diskspace_gb: v.number(),
  cpu_cores: v.pipe(v.number(), v.integer()),
  model_recommendation: v.string(),
  possible_options: v.array(v.string()),
  hardware_specs: v.object({
    gpu_name: v.string(),
    gpu_memory_gb: v.number(),
    ram_gb: v.number(),
    cuda_version: v.nullable(v.string()),
  }),
  compute_profile: v.string(),
  recommended_model: v.string(),
  possible_models: v.array(v.string()),
});
export const selectedModel = v.object({
  success: v.boolean(),
  selected_model: v.string(),
  message: v.string(),
});
export const selectedCustomModel = v.object({
  ...selectedModel.entries,
  valid: v.boolean(),
  repo_name: v.string(),
});
export const session = v.object({
  success: v.boolean(),
  task: v.nullable(v.string()),
  selected_model: v.nullable(v.string()),
  is_custom_model: v.boolean(),
});
export const started = v.object({ success: v.boolean(), message: v.string(), job_id: v.string() });
export const status = v.object({
  status: v.picklist(['idle', 'running', 'completed', 'error']),
  progress: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
  message: v.string(),
  error: v.nullable(v.string()),
});
export const acknowledged = v.object({ success: v.boolean(), message: v.string() });
/** `bin_id` restores it with `POST /api/bin/{id}/restore`: null if it was deleted for good. */
export const modelDeleted = v.object({ ...acknowledged.entries, bin_id: v.nullable(v.string()) });
export const hardwareSpecs = v.object({
  gpu_name: v.string(),
  gpu_memory_gb: v.number(),
  ram_gb: v.number(),
  disk_space_gb: v.number(),
  cpu_cores: v.pipe(v.number(), v.integer()),
  cuda_version: v.nullable(v.string()),
  torch_version: v.nullable(v.string()),
});
export const recommendedModels = v.object({
  task: v.string(),
  recommended_model: v.string(),
  possible_models: v.array(v.string()),
  compute_profile: v.string(),
});
export const settings = v.object({
  ...settingsSchema.entries,
  /** False if the trainer chooses the precision. */
  bf16: v.boolean(),
});
const reducedModel = v.object({
  model_id: v.string(),
  name: v.string(),
  base_model: v.string(),
  task: v.string(),
  created_at: v.string(),
});
export const listedModel = v.object({
  ...reducedModel.entries,
  strategy: v.string(),
  size_mb: v.number(),
  path: v.string(),
});
export const reducedModels = v.array(reducedModel);
export const listedModels = v.array(listedModel);
export const detailedModel = v.object({
  ...listedModel.entries,
  provider: optionalText,
  config: v.optional(v.record(v.string(), v.unknown())),
  metrics: v.optional(v.record(v.string(), v.nullable(v.number()))),
});
export const pushed = v.object({ success: v.boolean(), message: v.string(), repo_url: v.string() });
export const modelPath = v.object({ model_path: v.string(), model_id: v.string() });
export const generated = v.object({
  generated_text: v.string(),
  prompt: v.string(),
  tokens_generated: v.pipe(v.number(), v.integer()),
  generation_time_ms: v.pipe(v.number(), v.integer()),
});

/** The error format of this set. */
export const error = v.object({
  detail: v.union([
    v.string(),
    v.array(v.object({ loc: v.array(v.string()), msg: v.string(), type: v.string() })),
  ]),
});
