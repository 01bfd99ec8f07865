const move = {
  state: 'completed',
  progress: { files_done: 1, files_total: 1, bytes_done: 48_120, bytes_total: 48_120 },
  error: null,
  files: [
    {
      id: 'file-9f3c',
      filename: 'support-chats.jsonl',
      purpose: 'fine-tune',
      bytes: 48_120,
      created_at: '2026-03-02T09:14:05.000Z',
      state: 'stored',
      dataset: 'support-chats.jsonl',
      problem: null,
    },
  ],
  jobs: [
    {
      id: 'ftjob-7Qd2',
      created_at: '2026-03-02T09:15:00.000Z',
      finished_at: '2026-03-02T09:41:12.000Z',
      status: 'succeeded',
      model: 'gpt-4.1-mini-2025-04-14',
      fine_tuned_model: 'ft:gpt-4.1-mini-2025-04-14:acme:support:B7c2',
      method: 'supervised',
      hyperparameters: { n_epochs: 3, batch_size: 4, learning_rate_multiplier: 2 },
      seed: 7,
      suffix: 'support',
      grader: null,
      response_format: null,
      training_file: 'file-9f3c',
      validation_file: null,
      result_files: ['file-51ab'],
      metrics: { train_loss: 0.41 },
      training_dataset: 'support-chats.jsonl',
      validation_dataset: null,
      proposal: {
        request: {
          task: 'text-generation',
          model_name: 'Qwen/Qwen3-0.6B',
          dataset: 'support-chats.jsonl',
          strategy: 'sft',
          num_train_epochs: 3,
          per_device_train_batch_size: 2,
          gradient_accumulation_steps: 2,
          learning_rate: 0.0004,
          seed: 7,
        },
        notes: ['learning_rate is the recommended 0.0002 times learning_rate_multiplier 2.'],
      },
      problem: null,
    },
  ],
  evals: [{ id: 'eval_68a1', name: 'Labels', state: 'stored', runs: 2, problem: null }],
};

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/move/openai': move,
  'POST /api/move/openai/list': {
    ...move,
    files: move.files.map((file) => ({ ...file, state: 'listed', dataset: null })),
    evals: move.evals.map((one) => ({ ...one, state: 'listed', runs: 0 })),
  },
  'POST /api/move/openai': { ...move, state: 'listing', files: [], jobs: [], evals: [] },
  'DELETE /api/move/openai': { ...move, state: 'cancelled' },
};
