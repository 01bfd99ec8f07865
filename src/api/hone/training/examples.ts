/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
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
  'GET /api/teachers': {
    teachers: [
      { name: 'support-qwen3-1.7b', kind: 'model', reason: null },
      {
        name: 'HuggingFaceTB/SmolLM2-135M-Instruct',
        kind: 'base',
        reason:
          'HuggingFaceTB/SmolLM2-135M-Instruct has other tokens than Qwen/Qwen3-0.6B: token 0 is "<|endoftext|>" in the teacher and "!" in the student.',
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
      teacher_bytes: 0,
      spare_bytes: 67_108_864,
      total_bytes: 2_359_180_800,
    },
    steps: { total: 150, at_least: false, held_out_rows: 0 },
    time: {
      total_seconds: 318.4,
      train_seconds: 262.1,
      prepare_seconds: 21.7,
      export_seconds: 34.6,
      basis: 'train_6',
      rough: false,
    },
    available: {
      memory_bytes: 6_442_450_944,
      memory_of: 'gpu',
      disk_bytes: 228_000_000_000,
      other_runs: [{ job_id: 'train_8', memory_bytes: 0, disk_bytes: 1_650_000_000 }],
    },
    fits: true,
    advice: [
      'The dataset has 400 examples. For a model of this size (under 1B parameters), 500 are recommended.',
    ],
    request: { task: 'text-generation', model_name: 'Qwen/Qwen3-0.6B', num_train_epochs: 3, lora_r: 16 },
  },
};
