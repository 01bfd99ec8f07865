const evaluation = {
  evaluation_id: 'eval_2',
  state: 'completed',
  error: null,
  name: 'support · 3 epochs · 2e-4',
  base_model: 'Qwen/Qwen3-0.6B',
  model_id: '0e7a4b53-9f7e-4a8c-8d1e-5b606f2b1c9e',
  job_id: 'train_3',
  checkpoint: null,
  dataset: 'support-validation.jsonl',
  rows_digest: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
  row_shape: 'input-output',
  rows: 40,
  phase: null,
  progress: null,
  detail: null,
  figures: {
    loss: 0.42,
    perplexity: 1.52,
    exact_match: 62.5,
    f1: 81.3,
    rouge1: 0.83,
    rouge2: 0.71,
    rougeL: 0.82,
  },
  warnings: [],
  created_at: '2026-11-21T12:00:00.000Z',
  started_at: '2026-11-21T12:00:00.000Z',
  ended_at: '2026-11-21T12:00:42.000Z',
};
const evaluationDetail = {
  ...evaluation,
  results: [
    {
      line: 1,
      prompt: 'My bank says that you took the same fee two times in one day.',
      reference: 'Billing: We will refund the second charge.',
      rejected: null,
      answer: 'Billing: We will refund the second charge.',
      figures: { loss: 0.08, exact_match: 100, f1: 100, rouge1: 1, rouge2: 1, rougeL: 1 },
    },
  ],
};
const queuedEvaluation = {
  ...evaluationDetail,
  state: 'queued',
  figures: null,
  results: [],
  started_at: null,
  ended_at: null,
};

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'POST /api/evaluations': queuedEvaluation,
  'POST /api/evaluations/pairs': {
    summary: { first: 12, second: 5, tie: 3, agreement: 0.9 },
    pairs: [
      {
        line: 1,
        prompt: 'My bank says that you took the same fee two times in one day.',
        better: 'first',
        consistent: true,
        explanation: 'A: It says what will happen.\nin the other order B: It says what will happen.',
      },
    ],
  },
  'GET /api/evaluations': { evaluations: [evaluation] },
  'GET /api/evaluations/{evaluation_id}': evaluationDetail,
  'DELETE /api/evaluations/{evaluation_id}': {
    status: 'deleted',
    message: 'eval_2 was deleted',
    bin_id: '3c1f7c1e-52d7-4b0a-9f2b-6a51a1d0c7be',
  },
};
