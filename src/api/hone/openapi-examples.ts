/** An answer of each of our own routes, for the OpenAPI document. */
const point = {
  step: 75,
  total_steps: 150,
  epoch: 1.5,
  total_epochs: 3,
  loss: 0.8123,
  learning_rate: 1.2e-4,
  grad_norm: 0.94,
  tokens: 115_200,
  tokens_per_second: 512.5,
  elapsed_seconds: 225,
  eta_seconds: 225,
  memory_bytes: 3_221_225_472,
  extra: { mean_token_accuracy: 0.81 },
};
const job = {
  job_id: 'train_7',
  model_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  state: 'running',
  progress: 47.5,
  message: 'Training: step 75 of 150, loss 0.8123',
  error: null,
  task: 'text-generation',
  provider: 'standard',
  strategy: 'sft',
  model_name: 'Qwen/Qwen3-0.6B',
  dataset: 'support.jsonl',
  created_at: '2026-11-21T12:00:00.000Z',
  started_at: '2026-11-21T12:00:00.050Z',
  ended_at: null,
  phase: 'train',
  phase_progress: null,
  detail: null,
  last_metric: point,
  metrics: null,
  verification: null,
  resumable: false,
};
const stopped = {
  ...job,
  state: 'stopped',
  message: 'Training was stopped at step 75; it can be resumed',
  ended_at: '2026-11-21T12:03:45.000Z',
  resumable: true,
};
const settings = { learning_rate: 2e-4, num_train_epochs: 3, lora_r: 16, lora_alpha: 32, eval_split: 0.1 };
const row = { input: 'Where is my parcel?', output: 'Shipping: We will trace your parcel today.' };
const stored = {
  filename: 'support.jsonl',
  num_examples: 400,
  size_mb: 0.041,
  uploaded_at: '2026-11-21T11:00:00.000Z',
};
const dataset = {
  ...stored,
  validation: { valid: true, shape: 'input-output', errors: [], total_errors: 0 },
  warnings: [],
  rows: [row],
  cut_rows: [],
  lines: [1],
  next_from: 1,
  total: 400,
};
const verification = { passed: true, agreement: 1, difference_from_base: 2.1 };
const files = [
  { name: 'adapter/adapter_model.safetensors', bytes: 40_422_208 },
  { name: 'model-Q8_0.gguf', bytes: 639_446_688 },
];
const accessKey = {
  id: '4f9a02c7',
  name: 'laptop',
  scope: 'full',
  created_at: '2026-11-21T12:00:00.000Z',
  last_used_at: '2026-11-21T12:04:00.000Z',
};

const signedOut = {
  access: 'auto',
  reachable: true,
  key_needed: true,
  signed_in: false,
  key_name: null,
  scope: null,
};

export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/jobs': { jobs: [job], total: 1 },
  'GET /api/jobs/{job_id}': {
    ...job,
    validation_dataset: null,
    settings,
    export: { quantizations: ['Q8_0'] },
    artifacts: [],
    checkpoints: [
      {
        step: 50,
        path: 'checkpoints/checkpoint-50',
        created_at: '2026-11-21T12:02:31.000Z',
        metrics: { final_loss: 0.561, eval_loss: 0.534, perplexity: 1.706 },
      },
    ],
    consumption: {
      gpu_kilowatt_hours: 0.006,
      cpu_kilowatt_hours: null,
      gpu_peak_bytes: 3_489_660_928,
      ram_peak_bytes: 7_516_192_768,
      gpu_mean_utilization_percent: 93.1,
      cpu_mean_percent: 12.4,
    },
  },
  'GET /api/jobs/{job_id}/metrics': {
    train: [{ ...point, progress: 47.5, time: '2026-11-21T12:03:45.000Z' }],
    eval: [
      {
        step: 50,
        epoch: 1,
        metrics: { eval_loss: 0.534, perplexity: 1.706 },
        time: '2026-11-21T12:02:30.000Z',
      },
    ],
  },
  'GET /api/jobs/{job_id}/events': {
    events: [
      {
        seq: 412,
        time: '2026-11-21T12:02:31.000Z',
        type: 'log',
        job_id: 'train_7',
        level: 'info',
        kind: 'checkpoint',
        step: 50,
        path: 'checkpoints/checkpoint-50',
        reason: 'interval',
        best: true,
        message: 'Checkpoint saved at step 50',
      },
    ],
  },
  'GET /api/jobs/{job_id}/log': 'Loading weights\nThe first step took 1.9 s\n',
  'POST /api/jobs/{job_id}/resume': {
    ...job,
    state: 'starting',
    progress: 0,
    message: 'Starting the trainer',
  },
  'POST /api/jobs/{job_id}/stop': stopped,
  'DELETE /api/jobs/{job_id}': { status: 'deleted', message: 'Job train_7 was deleted' },
  'POST /api/datasets/{name}/preview': {
    max_seq_length: 512,
    template_source: 'model',
    warning: null,
    rows: [
      {
        line: 1,
        messages: [
          { role: 'user', content: 'Where', learned: false },
          { role: 'assistant', content: 'Shipping', learned: true },
        ],
        tokens: [
          { id: 9064, text: 'Where', labelled: false, truncated: false },
          { id: 85_572, text: 'Shipping', labelled: true, truncated: false },
        ],
        total_tokens: 2,
        labelled_tokens: 1,
      },
    ],
  },
  'GET /api/datasets/{name}': dataset,
  'POST /api/datasets/{name}/split': {
    training: { ...stored, filename: 'support-train.jsonl', num_examples: 360 },
    validation: { ...stored, filename: 'support-validation.jsonl', num_examples: 40 },
  },
  'DELETE /api/datasets/{name}': { status: 'deleted', message: 'Dataset support.jsonl was deleted' },
  'POST /api/datasets/{name}/convert': { ...dataset, filename: 'alpaca-converted.jsonl' },
  'GET /api/examples': {
    examples: [
      {
        name: 'support',
        task: 'text-generation',
        strategy: 'sft',
        num_examples: 400,
        sentence: 'Answers customer messages with the responsible team and a one-line reply.',
        model_name: 'Qwen/Qwen3-0.6B',
        settings: {},
      },
    ],
  },
  'POST /api/examples/{name}': { filename: 'support.jsonl' },
  'GET /api/hardware': {
    profile: 'low_end',
    gpus: [
      {
        index: 0,
        nvml_index: 0,
        name: 'NVIDIA GeForce RTX 3050',
        uuid: 'GPU-6f2b1c9e-0d7a-4b53-9f7e-2a8c4d1e5b60',
        mig: false,
        integrated: false,
        memory_total_bytes: 6_442_450_944,
        memory_free_bytes: 6_012_954_214,
        memory_used_bytes: 429_496_730,
        compute_capability: '8.6',
        lost: null,
        processes: [{ pid: 4312, memory_used_bytes: 398_458_880 }],
      },
    ],
    gpu_reason: null,
    driver_version: '580.65.06',
    cuda_version: '13.0',
    torch_version: '2.14.1',
    torch_cuda_version: '13.0',
    memory_total_bytes: 16_694_345_728,
    memory_available_bytes: 11_274_289_152,
    disk_free_bytes: 228_065_280_000,
    cpu_model: 'AMD Ryzen 5 5600X 6-Core Processor',
    cpu_cores_logical: 12,
    cpu_cores_physical: 6,
    cpu_quota_cores: null,
  },
  'GET /api/choices': {
    tasks: [
      {
        name: 'summarization',
        label: 'Summarization',
        description: 'A long text and its summary.',
        row_shape: 'input-output',
        row_shapes: ['input-output'],
      },
    ],
    strategies: [
      {
        name: 'dpo',
        label: 'DPO',
        description: 'Learns from pairs of preferred and rejected answers.',
        row_shape: 'preference',
        tasks: ['text-generation'],
      },
    ],
    providers: [
      {
        name: 'standard',
        label: 'Standard',
        description: 'Works on every platform and with every hub model.',
      },
    ],
    optimizers: ['adamw_torch', 'adamw_bnb_8bit', 'adafactor'],
    lr_scheduler_types: ['linear', 'cosine', 'constant_with_warmup'],
    quantizations: ['F16', 'Q8_0', 'Q4_K_M'],
    default_quantizations: ['Q8_0'],
  },
  'GET /api/recommendations': {
    profile: 'low_end',
    recommendations: [
      {
        model: 'Qwen/Qwen3-0.6B',
        why: 'the strongest of its size, also on a processor alone',
        parameters_billion: 0.6,
        licence: 'Apache-2.0',
        memory_bytes: 3_400_000_000,
      },
    ],
  },
  'POST /api/estimate': {
    parameters: 600_000_000,
    precision: '4-bit',
    simple_gb: { '4-bit': 0.45, '8-bit': 0.9, '16-bit': 1.8, '32-bit': 3.6 },
    memory: {
      weights_bytes: 337_500_000,
      adapter_bytes: 40_370_176,
      optimizer_bytes: 121_110_528,
      activations_bytes: 41_943_040,
      logits_bytes: 622_329_856,
      runtime_bytes: 2_100_000_000,
      total_bytes: 3_263_253_600,
    },
    disk: {
      download_bytes: 1_200_000_000,
      checkpoints_bytes: 363_331_584,
      export_bytes: 728_740_352,
      spare_bytes: 67_108_864,
      total_bytes: 2_359_180_800,
    },
    steps: { total: 150, held_out_rows: 0 },
    available: { memory_bytes: 6_442_450_944, memory_of: 'gpu', disk_bytes: 228_000_000_000 },
    fits: true,
    advice: [
      'The dataset has 400 examples. For a model of this size (under 1B parameters), 500 are recommended.',
    ],
  },
  'POST /api/models/{model_id}/quantize': {
    status: 'started',
    message: 'Quantizing Qwen3-0.6B-support to Q4_K_M',
  },
  'POST /api/models/{model_id}/push/cancel': {
    status: 'cancelled',
    message: 'The push to ada/support was cancelled',
  },
  'GET /api/models/{model_id}/files': { files },
  'GET /api/models/{model_id}/lineage': {
    model_id: job.model_id,
    id: 1,
    name: 'Qwen3-0.6B-support',
    base_model: job.model_name,
    task: job.task,
    provider: job.provider,
    strategy: job.strategy,
    created_at: '2026-11-21T12:09:00.000Z',
    dataset: job.dataset,
    job_id: job.job_id,
    settings,
    metrics: { final_loss: 0.412, eval_loss: 0.534, perplexity: 1.706 },
    verification,
    chat_template: true,
    files: [
      { ...files[0], kind: null, quantization: null },
      { ...files[1], kind: 'gguf', quantization: 'Q8_0' },
    ],
  },
  'POST /api/playground/base': {
    generated_text: 'I am sorry to hear that. Have you',
    prompt: 'My parcel has not come.',
    tokens_generated: 9,
    generation_time_ms: 371,
  },
  'GET /api/keys': { keys: [accessKey] },
  'POST /api/keys': {
    ...accessKey,
    last_used_at: null,
    key: 'hone_4f9a02c7_Q2xpbWIgdGhlIGhpbGwsIHNlZSB0aGUgc2VhIGFnYWk',
  },
  'DELETE /api/keys/{id}': { status: 'deleted', message: 'Access key 4f9a02c7 was removed' },
  'GET /api/session': signedOut,
  'POST /api/session': { ...signedOut, signed_in: true, key_name: 'laptop', scope: 'full' },
  'DELETE /api/session': signedOut,
  'GET /metrics': '# HELP hone_models Trained models.\n# TYPE hone_models gauge\nhone_models 3\n',
  'GET /api/docs': '<!doctype html><html lang="en">…</html>',
  'GET /api/openapi.json': { openapi: '3.1.0', info: { title: 'Hone', version: 'v2' }, paths: {} },
};
