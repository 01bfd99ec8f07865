const trial = {
  number: 4,
  job_id: 'train_11',
  display_name: 'support · 3 epochs · 4.311e-4',
  state: 'completed',
  parameters: { learning_rate: 0.0004311, lora_r: 16 },
  value: 0.7314,
  last_value: 0.7314,
  step: 150,
  total_steps: 150,
};
const sweepSummary = {
  sweep_id: 'sweep_3',
  state: 'running',
  error: null,
  model_name: 'Qwen/Qwen3-0.6B',
  dataset: 'support.jsonl',
  task: 'text-generation',
  metric: 'eval_loss',
  direction: 'minimize',
  culling: true,
  trials: 20,
  started: 5,
  ended: 4,
  created_at: '2026-11-21T12:00:00.000Z',
  ended_at: null,
  best: trial,
};
const sweepRequest = {
  task: 'text-generation',
  model_name: 'Qwen/Qwen3-0.6B',
  dataset: 'support.jsonl',
  eval_split: 0.1,
};
const sweep = {
  ...sweepSummary,
  request: sweepRequest,
  space: { learning_rate: { low: 1e-5, high: 1e-3, log: true }, lora_r: { choices: [8, 16, 32] } },
  seed: 42,
  trials_started: [trial],
  steps: { made: 412, planned: 750 },
  importance: [
    { field: 'learning_rate', share: 0.74, correlation: -0.41 },
    { field: 'lora_r', share: 0.06, correlation: -0.12 },
  ],
  best_request: { ...sweepRequest, learning_rate: 0.0004311, lora_r: 16 },
};
const nothingYet = {
  started: 0,
  ended: 0,
  best: null,
  best_request: null,
  trials_started: [],
  importance: [],
  steps: { made: 0, planned: 0 },
};

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'POST /api/sweeps': { ...sweep, ...nothingYet },
  'GET /api/sweeps': { sweeps: [sweepSummary] },
  'GET /api/sweeps/{sweep_id}': sweep,
  'POST /api/sweeps/{sweep_id}/stop': { ...sweep, state: 'stopped', ended_at: '2026-11-21T13:10:00.000Z' },
  'DELETE /api/sweeps/{sweep_id}': {
    status: 'deleted',
    message: 'sweep_3 was deleted',
    bin_id: '3c1f7c1e-52d7-4b0a-9f2b-6a51a1d0c7be',
  },
};
