import { graderExample } from '../../domain/graders/grader-definition.ts';
import { flags } from './fine-tuning/grader-schemas.ts';

/** Example responses for the OpenAPI document. */
const model = {
  id: 'Qwen3-0.6B-support',
  object: 'model',
  created: 1_795_262_400,
  owned_by: 'hone',
  export: {
    state: 'done',
    code: null,
    reason: null,
    advice: null,
    files: [{ quantization: 'Q8_0', state: 'done', reason: null }],
  },
};
const usage = {
  prompt_tokens: 12,
  completion_tokens: 11,
  total_tokens: 23,
  prompt_tokens_details: { cached_tokens: 0 },
};
const text = 'Shipping: We will trace your parcel today.';

const file = {
  id: 'file-9f2c4e6a8b0d1f3e5a7c9b1d',
  object: 'file',
  bytes: 48_213,
  created_at: 1_795_262_100,
  filename: 'support.jsonl',
  purpose: 'fine-tune',
  status: 'processed',
};

const hyperparameters = { n_epochs: 3, batch_size: 8, learning_rate_multiplier: 1 };
const job = {
  id: 'ftjob-12',
  object: 'fine_tuning.job',
  created_at: 1_795_262_200,
  finished_at: 1_795_262_380,
  estimated_finish: null,
  model: 'Qwen/Qwen3-0.6B',
  fine_tuned_model: 'ft:Qwen/Qwen3-0.6B:hone:support:4f9d2c1a',
  organization_id: 'hone',
  status: 'succeeded',
  error: null,
  training_file: file.id,
  validation_file: null,
  result_files: ['file-results-12'],
  trained_tokens: 51_200,
  seed: 42,
  hyperparameters,
  method: { type: 'supervised', supervised: { hyperparameters } },
  integrations: [],
  metadata: { team: 'support' },
  user_provided_suffix: 'support',
};
const unfinished = { finished_at: null, fine_tuned_model: null, result_files: [], trained_tokens: null };
const event = {
  id: 'ftevent-8121',
  object: 'fine_tuning.job.event',
  created_at: 1_795_262_300,
  level: 'info',
  message: 'Step 88/300: training loss=0.4211',
  type: 'metrics',
  data: { step: 88, total_steps: 300, train_loss: 0.4211, train_mean_token_accuracy: 0.8812 },
};
const listOf = <T extends { readonly id: string }>(item: T) => ({
  object: 'list',
  data: [item],
  first_id: item.id,
  last_id: item.id,
  has_more: false,
});

const message = {
  id: 'msg_4f9d2c',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
};
const response = {
  id: 'resp_4f9d2c',
  object: 'response',
  created_at: 1_795_262_460,
  completed_at: 1_795_262_462,
  status: 'completed',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: 128,
  metadata: {},
  model: model.id,
  output: [message],
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  usage: {
    input_tokens: 12,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 11,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 23,
  },
  user: null,
};

export const examples: Readonly<Record<string, unknown>> = {
  'GET /v1/models': { object: 'list', data: [model] },
  'GET /v1/models/{model:path}': model,
  'DELETE /v1/models/{model:path}': { id: model.id, object: 'model', deleted: true },
  'POST /v1/files': file,
  'GET /v1/files': listOf(file),
  'GET /v1/files/{file_id}': file,
  'DELETE /v1/files/{file_id}': { id: file.id, object: 'file', deleted: true },
  'POST /v1/fine_tuning/jobs': { ...job, ...unfinished, status: 'queued' },
  'GET /v1/fine_tuning/jobs': listOf(job),
  'GET /v1/fine_tuning/jobs/{job_id}': job,
  'POST /v1/fine_tuning/jobs/{job_id}/cancel': {
    ...job,
    ...unfinished,
    status: 'cancelled',
    finished_at: job.finished_at,
  },
  'POST /v1/fine_tuning/jobs/{job_id}/pause': { ...job, ...unfinished, status: 'paused' },
  'POST /v1/fine_tuning/jobs/{job_id}/resume': { ...job, ...unfinished, status: 'queued' },
  'GET /v1/fine_tuning/jobs/{job_id}/checkpoints': listOf({
    id: 'ftckpt-12-100',
    object: 'fine_tuning.job.checkpoint',
    created_at: 1_795_262_280,
    fine_tuning_job_id: job.id,
    fine_tuned_model_checkpoint: `${job.fine_tuned_model}:ckpt-step-100`,
    step_number: 100,
    metrics: { step: 100, train_loss: 0.3121, train_mean_token_accuracy: 0.9143 },
  }),
  'GET /v1/fine_tuning/jobs/{job_id}/events': listOf(event),
  'POST /v1/fine_tuning/alpha/graders/validate': { grader: graderExample },
  'POST /v1/fine_tuning/alpha/graders/run': {
    reward: 1,
    metadata: {
      name: graderExample.name,
      type: graderExample.type,
      errors: {
        ...Object.fromEntries(flags.map((flag) => [flag, false])),
        model_grader_server_error_details: null,
        python_grader_runtime_error_details: null,
        python_grader_server_error_type: null,
      },
      execution_time: 0.84,
      scores: {},
      token_usage: null,
      sampled_model_name: null,
    },
    sub_rewards: {},
    model_grader_token_usage_per_model: {},
  },
  'POST /v1/chat/completions': {
    id: 'chatcmpl-4f9d2c',
    object: 'chat.completion',
    created: 1_795_262_460,
    model: model.id,
    choices: [
      {
        index: 0,
        logprobs: null,
        finish_reason: 'stop',
        message: { role: 'assistant', content: text, refusal: null },
      },
    ],
    usage,
    system_fingerprint: 'hone',
  },
  'POST /v1/responses': response,
  'GET /v1/responses/{response_id}': response,
  'DELETE /v1/responses/{response_id}': { id: response.id, object: 'response', deleted: true },
  'GET /v1/responses/{response_id}/input_items': listOf({
    ...message,
    id: 'msg_5a7c9b',
    role: 'user',
    content: [{ type: 'input_text', text: 'My parcel has not come.' }],
  }),
  'POST /v1/completions': {
    id: 'cmpl-4f9d2c',
    object: 'text_completion',
    created: 1_795_262_460,
    model: model.id,
    choices: [{ index: 0, text, logprobs: null, finish_reason: 'stop' }],
    usage,
    system_fingerprint: 'hone',
  },
  'POST /v1/embeddings': {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.6, 0, -0.8] }],
    model: model.id,
    usage: { prompt_tokens: 6, total_tokens: 6 },
  },
};
