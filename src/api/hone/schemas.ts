import * as v from 'valibot';
import { accessModes, keyNamePattern, keyNameRule, keyScopeNames } from '../../contract/access.ts';
import { jobStates, phaseNames } from '../../contract/jobs.ts';
import { engineNames } from '../../contract/journal.ts';
import { profiles } from '../../contract/profiles.ts';
import { quantizationTypes } from '../../contract/quantizations.ts';
import { rowShapeNames } from '../../contract/rows.ts';
import { importNote } from '../../domain/datasets/files/import-note.ts';
import { verification } from '../../domain/job-record/job.ts';
import {
  generationDefaults,
  lengthBound,
  promptBound,
  temperatureBound,
  topPBound,
} from '../../domain/playground/generation-bounds.ts';
import { trainingRequest } from '../../domain/training/training-request.ts';
import { evalFrame, exportFrame, lastPoint, logFrame, statusFrame } from './frame-schemas.ts';
import { identity, searchQuery } from './identity-schemas.ts';

const wholeNumber = (fallback: number, max: number) =>
  v.pipe(
    v.optional(v.string(), String(fallback)),
    v.regex(/^\d{1,9}$/, 'must be a whole number'),
    v.transform(Number),
    v.maxValue(max, `must be at most ${max}`),
  );

const filterText = v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(4096)));
const stateList = new RegExp(`^(${jobStates.join('|')})(,(${jobStates.join('|')}))*$`);
export const listQuery = v.object({
  /** One state, or several separated by commas. */
  state: v.optional(
    v.pipe(
      v.string(),
      v.regex(stateList, `must be one of ${jobStates.join(', ')}, or several with commas between them`),
      v.transform((text) => text.split(',')),
    ),
  ),
  task: filterText,
  provider: filterText,
  strategy: filterText,
  /** The base model as named in the request. */
  model_name: filterText,
  dataset: filterText,
  ...searchQuery.entries,
  limit: wholeNumber(50, 1000),
  offset: wholeNumber(0, 999_999_999),
});
/** `discard` deletes the job instead of saving a checkpoint. */
export const stopBody = v.optional(v.strictObject({ discard: v.optional(v.boolean(), false) }), {});
/** `queue` lets the job wait while there is no room for it. */
export const resumeBody = v.optional(v.strictObject({ queue: v.optional(v.boolean(), false) }), {});
export const metricsQuery = v.object({
  /** The maximum number of points; 0 for as many as one answer holds (50,000). */
  points: wholeNumber(0, 1_000_000),
});
export const logQuery = v.object({ bytes: wholeNumber(65_536, 16_777_216) });
export const generateBody = v.object({
  model_id: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
  prompt: promptBound,
  max_length: v.optional(lengthBound, generationDefaults.maxTokens),
  temperature: v.optional(temperatureBound, generationDefaults.temperature),
  top_p: v.optional(topPBound, generationDefaults.topP),
});

export const rowsQuery = v.object({
  rows: wholeNumber(20, 200),
  /** The number of the first row, from 0. */
  from: wholeNumber(0, 2 ** 31),
  /** Only rows with this text in a value, in upper or lower case. */
  search: v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1000))),
  /** Checks the dataset's size for this model. */
  model_name: v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024))),
});

export const job = v.object({
  job_id: v.string(),
  model_id: v.string(),
  state: v.picklist(jobStates),
  progress: v.number(),
  message: v.string(),
  error: v.nullable(
    v.object({
      code: v.nullable(v.string()),
      message: v.nullable(v.string()),
      advice: v.nullable(v.string()),
      evidence: v.nullable(v.string()),
      exit_code: v.nullable(v.number()),
      exit_signal: v.nullable(v.string()),
    }),
  ),
  task: v.string(),
  provider: v.string(),
  strategy: v.string(),
  model_name: v.string(),
  dataset: v.string(),
  created_at: v.string(),
  started_at: v.nullable(v.string()),
  ended_at: v.nullable(v.string()),
  /** How long its attempts before the latest one ran; `started_at` is the start of the latest. */
  earlier_seconds: v.number(),
  phase: v.nullable(v.picklist(phaseNames)),
  phase_progress: v.nullable(v.number()),
  detail: v.nullable(v.string()),
  last_metric: v.nullable(lastPoint),
  metrics: v.nullable(v.record(v.string(), v.nullable(v.number()))),
  verification: v.nullable(verification),
  resumable: v.boolean(),
  ...identity,
});
export const jobs = v.object({ jobs: v.array(job), total: v.number() });
const measured = { base: v.nullable(v.number()), tuned: v.nullable(v.number()) };
/** What a completed job gained: figures and answers of the base model and of the trained one. */
const verdict = v.object({
  /** Whether the exported file matches the trained model; `null` without a file. */
  verified: v.nullable(v.boolean()),
  duration_seconds: v.nullable(v.number()),
  /** The loss on the held-out rows. */
  loss: v.nullable(v.object(measured)),
  /** What the task is judged by, on the held-out rows. */
  metric: v.nullable(v.object({ name: v.string(), ...measured })),
  /** Why base and trained model are not compared. */
  reason: v.nullable(v.string()),
  prompts: v.array(
    v.object({
      prompt: v.string(),
      /** The answer that is wanted, where it is known. */
      reference: v.nullable(v.string()),
      base: v.nullable(v.string()),
      tuned: v.nullable(v.string()),
      /** The answers at the kept checkpoints. */
      checkpoints: v.array(v.object({ step: v.number(), text: v.string() })),
      /** The answer of the exported file. */
      file: v.nullable(v.object({ quantization: v.string(), text: v.string() })),
    }),
  ),
});
export const jobDetail = v.object({
  ...job.entries,
  /** What the rows are; `null` if the job's specification does not tell. */
  row_shape: v.nullable(v.picklist(rowShapeNames)),
  /** The dataset that it validates on, if that is not a part of `dataset`. */
  validation_dataset: v.nullable(v.string()),
  settings: v.record(v.string(), v.unknown()),
  /** What its workers run on, with the workers of each of the cluster's nodes; `null` until that is known. */
  engine: v.nullable(
    v.object({
      name: v.picklist(['single', ...engineNames]),
      nodes: v.nullable(v.record(v.string(), v.nullable(v.number()))),
    }),
  ),
  /** The training request that starts it again, with every setting; `null` if the settings are unknown. */
  request: v.nullable(v.record(v.string(), v.unknown())),
  export: v.nullable(v.looseObject({})),
  /** Whether the base model's own chat template is used; `false` before a run has chosen. */
  chat_template: v.boolean(),
  artifacts: v.array(v.looseObject({})),
  /** Those that are kept, by step; the playground answers with each. */
  checkpoints: v.array(
    v.object({
      step: v.number(),
      /** Relative to the job folder. */
      path: v.string(),
      created_at: v.string(),
      metrics: v.record(v.string(), v.nullable(v.number())),
    }),
  ),
  consumption: v.object({
    gpu_kilowatt_hours: v.nullable(v.number()),
    cpu_kilowatt_hours: v.nullable(v.number()),
    gpu_peak_bytes: v.nullable(v.number()),
    ram_peak_bytes: v.nullable(v.number()),
    gpu_mean_utilization_percent: v.nullable(v.number()),
    cpu_mean_percent: v.nullable(v.number()),
  }),
  /** `null` unless the job is completed. */
  verdict: v.nullable(verdict),
});
export const generated = v.object({
  generated_text: v.string(),
  prompt: v.string(),
  tokens_generated: v.pipe(v.number(), v.integer()),
  generation_time_ms: v.pipe(v.number(), v.integer()),
});
export const deleted = v.object({ status: v.string(), message: v.string() });
export const error = v.object({ error: v.string(), detail: v.string(), status_code: v.number() });

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
    disk_bytes: v.nullable(bytes),
    /** What runs that are going will still take, by their own estimates; it is not in the two numbers. */
    other_runs: v.array(v.object({ job_id: v.string(), memory_bytes: bytes, disk_bytes: bytes })),
  }),
  fits: v.nullable(v.boolean()),
  advice: v.array(v.string()),
});
export const analysisBody = v.optional(
  v.strictObject({
    /** Counts tokens as a training of this model would. */
    model_name: v.optional(v.nullable(trainingRequest.entries.model_name)),
    max_seq_length: trainingRequest.entries.max_seq_length,
    /** Looks for the rows of this dataset in the other. */
    validation_dataset: v.optional(v.nullable(trainingRequest.entries.dataset)),
  }),
  {},
);
const lineNumbers = v.array(v.number());
const pair = v.object({ lines: lineNumbers, similarity: v.number(), texts: v.array(v.string()) });
/** Numbers of rows count those that repeat an earlier one. Lists of lines, groups and pairs have the first of them. */
export const analysis = v.object({
  rows: v.number(),
  shape: v.picklist(rowShapeNames),
  /** `null` without `model_name`. */
  lengths: v.nullable(
    v.object({
      model: v.string(),
      max_seq_length: v.number(),
      /** The rows whose tokens were counted, drawn at random from larger datasets. */
      sampled_rows: v.number(),
      /** `from` and `to` are numbers of tokens, both included. */
      bins: v.array(v.object({ from: v.number(), to: v.number(), count: v.number() })),
      median: v.number(),
      p95: v.number(),
      p99: v.number(),
      longest: v.number(),
      /** Of the counted rows, those that are longer than `max_seq_length`. */
      truncated_rows: v.number(),
      /** The share of learned tokens of all that are trained; `null` for models that point at answers. */
      learned_share: v.nullable(v.number()),
    }),
  ),
  exact_duplicates: v.object({
    rows: v.number(),
    groups: v.array(v.object({ lines: lineNumbers, text: v.string() })),
  }),
  /** Rows whose texts have a Jaccard similarity of at least 0.8; estimated if there are more than 200. */
  near_duplicates: v.object({
    rows: v.number(),
    /** The first rows, which were compared. */
    compared_rows: v.number(),
    pairs: v.array(pair),
  }),
  /** Rows of the validation dataset that the dataset has, too; each example has a line of both. */
  overlap: v.nullable(
    v.object({ dataset: v.string(), exact: v.number(), near: v.number(), examples: v.array(pair) }),
  ),
  empty_answers: v.object({ rows: v.number(), lines: lineNumbers }),
});
const stored = v.object({
  filename: v.string(),
  num_examples: v.number(),
  size_mb: v.number(),
  uploaded_at: v.string(),
});
/** Exactly one of `fraction` and `rows` says how many rows are held out. */
export const splitBody = v.pipe(
  v.strictObject({
    fraction: v.optional(
      v.pipe(v.number(), v.gtValue(0, 'must be greater than 0'), v.ltValue(1, 'must be less than 1')),
    ),
    rows: v.optional(
      v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(1, 'must be at least 1')),
    ),
    seed: v.optional(
      v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(0), v.maxValue(2 ** 32 - 1)),
      42,
    ),
  }),
  v.check(
    ({ fraction, rows }) => (fraction === undefined) !== (rows === undefined),
    'Set fraction (a share of the rows, such as 0.1) or rows (their number), one of them',
  ),
);
export const split = v.object({ training: stored, validation: stored });
export const dataset = v.object({
  ...stored.entries,
  validation: v.object({
    valid: v.boolean(),
    shape: v.nullable(v.string()),
    errors: v.array(
      v.object({ line: v.nullable(v.number()), field: v.nullable(v.string()), message: v.string() }),
    ),
    total_errors: v.number(),
  }),
  /** The format of another tool from which its rows can be imported; `null` if there is none. */
  convertible: v.nullable(v.string()),
  /** What made it, if it was imported. */
  import: v.nullable(importNote),
  /** Warnings that it is smaller than recommended. */
  warnings: v.array(v.string()),
  rows: v.array(v.unknown()),
  /** The places in `rows` of those that are too long and displayed in part. */
  cut_rows: v.array(v.number()),
  /** The line of each of `rows`, from 1. */
  lines: v.array(v.number()),
  /** `from` of the next page; `null` at the end. */
  next_from: v.nullable(v.number()),
  /** How many rows have the text of `search` (or how many there are); `null` if that is not known yet. */
  total: v.nullable(v.number()),
});
export const quantizeBody = v.object({
  type: v.picklist(quantizationTypes, `must be one of ${quantizationTypes.join(', ')}`),
});
export const told = v.object({ status: v.string(), message: v.string() });
export const files = v.object({ files: v.array(v.object({ name: v.string(), bytes })) });

export const keyBody = v.strictObject({
  name: v.pipe(v.string(), v.trim(), v.regex(keyNamePattern, keyNameRule)),
  scope: v.optional(v.picklist(keyScopeNames, `must be one of ${keyScopeNames.join(', ')}`), 'full'),
});
const key = v.object({
  /** The public part of the key. */
  id: v.string(),
  name: v.string(),
  scope: v.picklist(keyScopeNames),
  created_at: v.string(),
  /** To the minute; `null` before the first use. */
  last_used_at: v.nullable(v.string()),
});
export const keys = v.object({ keys: v.array(key) });
/** With the key itself, which is not stored. */
export const newKey = v.object({ ...key.entries, key: v.string() });

const { dataset: _dataset, ...withoutDataset } = trainingRequest.entries;
export const previewBody = v.strictObject({
  ...withoutDataset,
  rows: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50, 'must be at most 50')), 5),
});
export type { Verification } from '../../contract/journal.ts';
export { preview } from '../../domain/training/previewer.ts';
export type * from './frame-schemas.ts';
export { series } from './frame-schemas.ts';

const event = v.union([statusFrame, evalFrame, logFrame, exportFrame]);
export type Event = v.InferOutput<typeof event>;
export const events = v.object({ events: v.array(event) });

export const examples = v.object({
  examples: v.array(
    v.object({
      name: v.string(),
      task: v.string(),
      strategy: v.string(),
      num_examples: v.number(),
      sentence: v.string(),
      model_name: v.string(),
      /** Training request fields for this model, in addition to the recommended ones. */
      settings: v.record(v.string(), v.number()),
    }),
  ),
});
export const usedExample = v.object({ filename: v.string() });
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
const known = v.nullable(v.number());
const said = v.nullable(v.string());
export const hardware = v.object({
  profile: v.picklist(profiles),
  gpus: v.array(
    v.object({
      /** PyTorch's `cuda:<index>`. */
      index: v.number(),
      /** The physical GPU's number in `nvidia-smi`. */
      nvml_index: known,
      name: v.string(),
      uuid: said,
      /** Whether it is a MIG instance. */
      mig: v.boolean(),
      /** Whether it shares the system memory. */
      integrated: v.nullable(v.boolean()),
      memory_total_bytes: known,
      memory_free_bytes: known,
      memory_used_bytes: known,
      compute_capability: said,
      /** Why the driver can no longer reach it, if so. */
      lost: said,
      processes: v.nullable(v.array(v.object({ pid: v.number(), memory_used_bytes: known }))),
    }),
  ),
  /** Why training cannot use a GPU, or why a figure of one is missing. */
  gpu_reason: said,
  driver_version: said,
  cuda_version: said,
  torch_version: said,
  /** The CUDA version that PyTorch was built for; `null` for a CPU build. */
  torch_cuda_version: said,
  memory_total_bytes: v.number(),
  memory_available_bytes: v.number(),
  disk_free_bytes: known,
  cpu_model: said,
  cpu_cores_logical: v.number(),
  cpu_cores_physical: known,
  /** The container's CPU limit in cores. */
  cpu_quota_cores: known,
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
const problem = v.object({ kind: v.picklist(['invalid', 'forbidden', 'upstream']), message: v.string() });
export type Problem = v.InferOutput<typeof problem>;
export const localModels = v.object({
  models: v.array(v.object({ model: v.string(), kind: v.picklist(['starter', 'hub', 'folder']) })),
});
export const checkedModelBody = v.strictObject({
  model: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
});
/** `hub` is `null` for a local folder; its numbers are if only the cache is available. */
export const checkedModel = v.object({
  usable: v.boolean(),
  problem: v.nullable(problem),
  hub: v.nullable(v.object({ downloads: v.nullable(v.number()), likes: v.nullable(v.number()) })),
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

export const openApiDocument = v.looseObject({
  openapi: v.string(),
  info: v.object({ title: v.string(), version: v.string() }),
  paths: v.record(v.string(), v.looseObject({})),
});
export type OpenApiDocument = v.InferOutput<typeof openApiDocument>;

export const signInBody = v.strictObject({
  key: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
});
export const accessSession = v.object({
  /** Who needs a key. */
  access: v.picklist(accessModes),
  /** Whether the service listens on an address that other machines can reach. */
  reachable: v.boolean(),
  /** Whether this client needs a key. */
  key_needed: v.boolean(),
  signed_in: v.boolean(),
  /** The name and scope of the key that this client presented. */
  key_name: v.nullable(v.string()),
  scope: v.nullable(v.picklist(keyScopeNames)),
});
