/** Example responses for the OpenAPI document. */
const listed = {
  id: 1,
  name: 'Qwen3-0.6B-support',
  base_model: 'Qwen/Qwen3-0.6B',
  task: 'text-generation',
  created_at: '2026-11-21T12:00:00.000Z',
  size_mb: 702.411,
};

export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/info': {
    providers: ['standard', 'accelerated'],
    strategies: ['sft', 'qlora', 'dpo', 'rlhf', 'grpo', 'kto'],
    tasks: ['text-generation', 'summarization', 'extractive-question-answering'],
    version: 'v2',
    data_dir: '/home/ada/.hone',
    availability: [
      { provider: 'standard', available: true, reason: null },
      { provider: 'accelerated', available: false, reason: 'It needs an NVIDIA GPU, and there is none.' },
    ],
    engines: [
      { engine: 'single', available: true, reason: null },
      { engine: 'local', available: true, reason: null },
      { engine: 'cluster', available: false, reason: 'Hone was started without --cluster.' },
    ],
    http: { engine: 'uws', description: 'uWebSockets.js 20.30.0', reason: null },
  },
  'GET /api/health': { status: 'healthy', version: 'v2' },
  'POST /api/start_training': {
    status: 'started',
    job_id: 'train_7',
    message: 'Training of Qwen/Qwen3-0.6B started',
  },
  'GET /api/training_status': {
    status: 'training',
    progress: 47.5,
    current_epoch: 2,
    total_epochs: 3,
    current_step: 75,
    total_steps: 150,
    loss: 0.8123,
    learning_rate: 1.2e-4,
    message: 'Training: step 75 of 150, loss 0.8123',
    error: null,
  },
  'POST /api/stop_training': {
    status: 'stopped',
    message: 'Training stopped; a checkpoint was saved',
  },
  'POST /api/upload_dataset': {
    status: 'uploaded',
    filename: 'support.jsonl',
    num_examples: 400,
    validation: {
      valid: true,
      errors: [],
      total_errors: 0,
      shape: 'input-output',
      details: [],
      warnings: [
        'The dataset has 400 examples. The minimum is 500 for models of 3B to 7B, 1000 for models over 7B.',
        'The dataset has 400 examples. Recommended: 500 for models under 1B parameters, 1000 for models of 1B to 3B.',
      ],
    },
  },
  'GET /api/datasets': {
    datasets: [
      {
        filename: 'support.jsonl',
        num_examples: 400,
        size_mb: 0.041,
        uploaded_at: '2026-11-21T11:00:00.000Z',
        valid: true,
        shape: 'input-output',
        former_names: [],
        findings: 3,
      },
    ],
  },
  'GET /api/models': { models: [listed] },
  'GET /api/models/{model_id:digits}': {
    ...listed,
    provider: 'standard',
    strategy: 'sft',
    training_params: { num_epochs: 3, batch_size: 1, learning_rate: 2e-4 },
    metrics: { final_loss: 0.412, perplexity: 1.706 },
  },
  'DELETE /api/models/{model_id:digits}': {
    status: 'deleted',
    message: 'Model Qwen3-0.6B-support was deleted',
  },
  'POST /api/playground/generate': {
    generated_text: 'Shipping: We will trace your parcel today.',
    tokens_generated: 11,
    generation_time_ms: 412,
  },
};
