import { facets, job, settings } from '../jobs/examples.ts';

const exported = {
  state: 'done',
  code: null,
  reason: null,
  advice: null,
  files: [{ quantization: 'Q8_0', state: 'done', reason: null }],
};
const verification = { passed: true, agreement: 1, difference_from_base: 2.1 };
const files = [
  { name: 'adapter/adapter_model.safetensors', bytes: 40_422_208 },
  { name: 'model-Q8_0.gguf', bytes: 639_446_688 },
];
const catalogued = {
  model_id: job.model_id,
  id: 1,
  name: 'Qwen3-0.6B-support',
  display_name: job.display_name,
  notes: job.notes,
  tags: job.tags,
  base_model: job.model_name,
  parent: null,
  task: job.task,
  strategy: job.strategy,
  dataset: job.dataset,
  job_id: job.job_id,
  created_at: '2026-11-21T12:09:00.000Z',
  size_mb: 640.5,
  path: `/home/ada/.local/share/hone/model_checkpoints/${job.model_id}`,
  eval_loss: 0.42,
  gain: 0.8,
  scores: { brief: 0.9 },
};
const exportUnderway = {
  ...exported,
  files: [
    {
      ...exported.files[0],
      name: 'model-Q8_0.gguf',
      bytes: 639_446_688,
      verified: true,
      loss_increase: 0.003,
      mean_kl: 0.0011,
      agreement: 0.994,
    },
  ],
  merged: { obstacle: null, state: null, reason: null, name: null, bytes: null },
  adapter_gguf: {
    obstacle: null,
    state: 'done',
    reason: null,
    name: 'adapter.gguf',
    bytes: 40_422_208,
  },
  underway: {
    quantizations: ['Q4_K_M', 'F16'],
    forms: ['merged'],
    state: 'running',
    phase: 'convert',
    progress: 0.42,
    detail: 'merging into F16',
  },
};

const alias = {
  name: 'support@live',
  model: 'Qwen3-0.6B-support',
  moved_at: '2026-11-21T12:00:00.000Z',
  history: [{ model: 'Qwen3-0.6B-support-1', moved_at: '2026-11-14T09:30:00.000Z' }],
  split: null,
};
const split = {
  ...alias,
  split: {
    model: 'Qwen3-0.6B-support-2',
    percent: 10,
    started_at: '2026-11-22T08:00:00.000Z',
    current: {
      answers: 912,
      up: 48,
      down: 32,
      liked: { share: 0.6, low: 0.4904, high: 0.7004 },
      milliseconds: 812.4,
      graded: 912,
      score: { share: 0.71, low: 0.6797, high: 0.7385 },
    },
    candidate: {
      answers: 101,
      up: 56,
      down: 14,
      liked: { share: 0.8, low: 0.6918, high: 0.8769 },
      milliseconds: 640.2,
      graded: 101,
      score: { share: 0.83, low: 0.7453, high: 0.8908 },
    },
    difference: { share: 0.2, low: 0.0524, high: 0.3339 },
    better: 'candidate',
    grader: {
      name: 'right-label',
      deleted: false,
      left: 0,
      failed: 0,
      difference: { share: 0.12, low: 0.0301, high: 0.1878 },
      better: 'candidate',
    },
  },
};

const remoteModel = {
  name: 'gpt',
  url: 'https://api.openai.com/v1',
  model: 'gpt-4o-mini',
  has_key: true,
  created_at: '2026-11-21T12:09:00.000Z',
};

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/aliases': { aliases: [split] },
  'POST /api/aliases': alias,
  'POST /api/aliases/{name}/undo': { ...alias, ...alias.history[0], history: [] },
  'POST /api/aliases/{name}/split': split,
  'POST /api/aliases/{name}/split/grade': { graded: 20, failed: 0, error: null, alias: split },
  'DELETE /api/aliases/{name}/split': alias,
  'DELETE /api/aliases/{name}': { status: 'deleted', message: 'The alias support@live was deleted' },
  'GET /api/remote_models': { remote_models: [remoteModel] },
  'POST /api/remote_models': remoteModel,
  'DELETE /api/remote_models/{name}': { status: 'deleted', message: 'The model gpt was removed' },
  'GET /api/catalog': { models: [catalogued] },
  'GET /api/catalog/facets': facets,
  'PATCH /api/catalog/{model_id}': catalogued,
  'GET /api/models/{model_id}/export': exportUnderway,
  'POST /api/models/{model_id}/export': exportUnderway,
  'DELETE /api/models/{model_id}/export': {
    status: 'cancelled',
    message: 'The export of Qwen3-0.6B-support was cancelled',
  },
  'POST /api/models/{model_id}/quantize': {
    status: 'started',
    message: 'Quantizing Qwen3-0.6B-support to Q4_K_M',
  },
  'GET /api/models/{model_id}/push': {
    underway: { repo_name: 'ada/support', state: 'uploading', fraction: 0.4 },
  },
  'POST /api/models/{model_id}/push/cancel': {
    status: 'cancelled',
    message: 'The push to ada/support was cancelled',
  },
  'GET /api/models/{model_id}/card': '---\nlibrary_name: "peft"\n---\n\n# `owner/name`\n…\n',
  'GET /api/models/{model_id}/files': { files },
  'GET /api/models/{model_id}/lineage': {
    model_id: job.model_id,
    id: 1,
    name: 'Qwen3-0.6B-support',
    base_model: job.model_name,
    parent: null,
    task: job.task,
    provider: job.provider,
    strategy: job.strategy,
    created_at: '2026-11-21T12:09:00.000Z',
    dataset: job.dataset,
    job_id: job.job_id,
    display_name: job.display_name,
    notes: job.notes,
    tags: job.tags,
    settings,
    metrics: { final_loss: 0.412, eval_loss: 0.534, perplexity: 1.706 },
    verification,
    export: exported,
    chat_template: true,
    context_length: 40_960,
    tools_fault: null,
    files: [
      { ...files[0], kind: null, quantization: null, verified: null },
      { ...files[1], kind: 'gguf', quantization: 'Q8_0', verified: true },
    ],
  },
};
