import * as v from 'valibot';
import { pushStates } from '../../../contract/frames.ts';
import { quantizationTypes } from '../../../contract/models/quantizations.ts';
import {
  exportedFile,
  exportOutcome,
  exportReasons,
  parent,
  verification,
} from '../../../domain/job-record/job.ts';
import { scaleBound, stepBound } from '../../../domain/playground/generation-bounds.ts';
import {
  remoteKeyPattern,
  remoteNamePattern,
  remoteNameRule,
} from '../../../domain/remote-models/remote-models.ts';
import { about } from '../../../http/openapi.ts';
import { toolsFault } from '../common.ts';
import { exportTaskFields } from '../frames/schemas.ts';
import { identity, searchQuery } from '../identity.ts';

const bytes = v.number();
const or = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema));
const type = v.picklist(quantizationTypes, `must be one of ${quantizationTypes.join(', ')}`);
export const cardQuery = v.object({
  /** The repository, as owner/name. */
  repo_name: v.pipe(v.string(), v.maxLength(200, 'must have at most 200 characters')),
});
export const quantizeBody = v.object({ type });
export const exportBody = v.pipe(
  v.strictObject({
    quantizations: about(
      v.optional(
        v.pipe(
          v.array(type),
          v.minLength(1, 'must name at least one type'),
          v.check((types) => new Set(types).size === types.length, 'must name each type once'),
        ),
      ),
      'With a strength or a checkpoint the types that there are are made, too.',
    ),
    merged: about(
      v.optional(v.boolean()),
      'Also makes the folder merged/: 16-bit safetensors files that transformers, vLLM and MLX load.',
    ),
    adapter_gguf: about(
      v.optional(v.boolean()),
      'Also makes adapter.gguf, the adapter for llama.cpp, with a README.',
    ),
    strength: about(
      v.optional(v.pipe(scaleBound, v.gtValue(0, 'must be more than 0'))),
      'What the change of the adapter is multiplied by, as scale in /api/generate; 1 with a checkpoint alone.',
    ),
    checkpoint: about(
      v.optional(stepBound),
      'The step of the kept checkpoint whose adapter is taken; with a strength alone the adapter is that of the end of the training.',
    ),
  }),
  v.check(
    (body) => Object.values(body).some((value) => value !== undefined && value !== false),
    'must have quantizations, merged, adapter_gguf, strength or checkpoint',
  ),
);
/** What can be made besides GGUF files of the whole model. */
const exportedForm = v.object({
  /** Why it cannot be made, with what to choose instead; `null` if it can. */
  obstacle: v.nullable(v.string()),
  /** What became of it; `null` if it was never made. */
  state: v.nullable(exportedFile.state),
  reason: exportedFile.reason,
  /** Its file, or the folder that its files are in, among the model's; `null` if it is not there. */
  name: v.nullable(v.string()),
  bytes: v.nullable(bytes),
});
export const modelExport = v.object({
  ...exportReasons,
  /** Those that there are, and those that the latest export failed to make. */
  files: v.array(
    v.object({
      ...exportedFile,
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
  /** The merged weights in safetensors files. */
  merged: exportedForm,
  /** The adapter for llama.cpp. */
  adapter_gguf: exportedForm,
  underway: v.nullable(v.object(exportTaskFields)),
});
export const files = v.object({ files: v.array(v.object({ name: v.string(), bytes })) });

const filterText = v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(4096)));
export const catalogQuery = v.object({
  ...searchQuery.entries,
  task: about(filterText, 'Only models of this task.'),
  strategy: about(filterText, 'Only models of this strategy.'),
  base_model: about(filterText, 'Only models of this base model.'),
  dataset: about(filterText, 'Only models that were trained on this dataset.'),
});
export const catalogued = v.object({
  model_id: v.string(),
  id: v.number(),
  /** The name that requests use. */
  name: v.string(),
  ...identity,
  base_model: v.string(),
  /** The model that it was trained on from, with the step of its checkpoint, if it is one; `how` tells what was done with it. */
  parent: v.nullable(parent),
  task: v.string(),
  strategy: v.string(),
  dataset: v.string(),
  /** `null` after the job was deleted. */
  job_id: v.nullable(v.string()),
  created_at: v.string(),
  size_mb: v.number(),
  path: v.string(),
  /** On the held-out rows of its run. */
  eval_loss: v.nullable(v.number()),
  /** How much lower that is than the base model's, as a share of it; `null` after the job was deleted. */
  gain: v.nullable(v.number()),
  /** The scores by the graders of its run on these rows, by their names. */
  scores: v.record(v.string(), v.number()),
});
/** How far a push to the hub is; `null` if none is underway. */
export const push = v.object({
  underway: v.nullable(
    v.object({ repo_name: v.string(), state: v.picklist(pushStates), fraction: v.number() }),
  ),
});
export const catalog = v.object({ models: v.array(catalogued) });
export const lineage = v.object({
  model_id: v.string(),
  id: v.number(),
  name: v.string(),
  base_model: v.string(),
  /** The model that it was trained on from, with the step of its checkpoint, if it is one; `how` tells what was done with it. */
  parent: v.nullable(parent),
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
  /** The most tokens of a prompt and its answer. */
  context_length: v.nullable(v.number()),
  tools_fault: toolsFault,
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

export const remoteModelBody = v.strictObject({
  name: v.pipe(v.string(), v.regex(remoteNamePattern, remoteNameRule)),
  url: about(
    v.pipe(v.string(), v.trim(), v.minLength(1, 'must not be empty'), v.maxLength(2048)),
    'The base URL of the service, such as https://api.openai.com/v1.',
  ),
  model: about(
    or(v.pipe(v.string(), v.trim(), v.minLength(1, 'must not be empty'), v.maxLength(1024))),
    'What the service calls the model. Default: the name.',
  ),
  key: or(v.pipe(v.string(), v.trim(), v.regex(remoteKeyPattern, 'must be a key, such as sk-…'))),
});
/** A name that stands for a model of another service. */
export const remoteModel = v.object({
  name: v.string(),
  url: v.string(),
  model: v.string(),
  /** Whether it is asked with a key, which is never told. */
  has_key: v.boolean(),
  created_at: v.string(),
});
export const remoteModels = v.object({ remote_models: v.array(remoteModel) });
