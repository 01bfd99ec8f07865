import { compared } from '../traffic/examples.ts';

export const row = { input: 'Where is my parcel?', output: 'Shipping: We will trace your parcel today.' };
const stored = {
  filename: 'support.jsonl',
  num_examples: 400,
  size_mb: 0.041,
  uploaded_at: '2026-11-21T11:00:00.000Z',
  former_names: [],
};
const version = '4f0c8f1f3a5f4a0e';
const edited = {
  ...stored,
  validation: { valid: true, shape: 'input-output', errors: [], total_errors: 0 },
  version,
};
const dataset = {
  ...edited,
  convertible: null,
  import: null,
  warnings: [],
  rows: [row],
  cut_rows: [],
  flagged_rows: [],
  lines: [1],
  lengths: null,
  length_unit: null,
  next_from: 1,
  total: 400,
};

const kept = {
  sha256: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
  current: false,
  created_at: '2026-11-20T09:00:00.000Z',
  num_examples: 398,
  size_mb: 0.041,
  used_by: [{ kind: 'run', id: 'train_7', name: 'support · 3 epochs · 2e-4' }],
};

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'POST /api/datasets/{name}/preview': {
    max_seq_length: 512,
    template_source: 'model',
    thinking: 'keep',
    warning: null,
    rows: [
      {
        line: 1,
        messages: [
          { role: 'user', content: 'Where', reasoning: null, tool_calls: [], learned: false },
          { role: 'assistant', content: 'Shipping', reasoning: null, tool_calls: [], learned: true },
        ],
        tokens: [
          { id: 9064, text: 'Where', joined: false, bytes: null, labelled: false, truncated: false },
          { id: 85_572, text: 'Shipping', joined: false, bytes: null, labelled: true, truncated: false },
        ],
        total_tokens: 2,
        labelled_tokens: 1,
      },
    ],
  },
  'GET /api/datasets/{name}': dataset,
  'POST /api/datasets/{name}/rows': dataset,
  'POST /api/datasets/{name}/answers': {
    ...stored,
    added: 12,
    ...compared,
  },
  'PATCH /api/datasets/{name}/rows': edited,
  'PATCH /api/datasets/{name}/flags': edited,
  'POST /api/datasets/{name}/cleaning': { ...edited, removed_rows: 3, changed_rows: 0 },
  'DELETE /api/datasets/{name}/cleaning': edited,
  'GET /api/datasets/{name}/versions': { versions: [{ ...kept, added_rows: 3, removed_rows: 1 }] },
  'GET /api/datasets/{name}/versions/{sha256}': {
    ...kept,
    rows: [row],
    cut_rows: [],
    lines: [1],
    next_from: 1,
  },
  'POST /api/datasets/{name}/versions/{sha256}/restore': edited,
  'GET /api/datasets/{name}/rows/{line}': { line: 1, text: JSON.stringify(row), version },
  'POST /api/datasets/{name}/analysis': {
    rows: 400,
    shape: 'input-output',
    lengths: {
      model: 'Qwen/Qwen3-0.6B',
      max_seq_length: 512,
      sampled_rows: 400,
      bins: [
        { from: 0, to: 39, count: 330 },
        { from: 40, to: 79, count: 70 },
      ],
      median: 34,
      p95: 47,
      p99: 52,
      longest: 61,
      truncated_rows: 0,
      learned_share: 0.41,
    },
    exact_duplicates: { rows: 1, groups: [{ lines: [3, 17], text: row.input }] },
    near_duplicates: { rows: 0, compared_rows: 400, pairs: [] },
    overlap: null,
    empty_answers: { rows: 0, lines: [] },
    padded_texts: { rows: 2, lines: [5, 9] },
  },
  'POST /api/datasets/{name}/split': {
    training: { ...stored, filename: 'support-train.jsonl', num_examples: 360 },
    validation: { ...stored, filename: 'support-validation.jsonl', num_examples: 40 },
  },
  'PATCH /api/datasets/{name}': { ...stored, filename: 'tickets.jsonl', former_names: ['support.jsonl'] },
  'POST /api/datasets/{name}/copies': { ...stored, filename: 'support-copy.jsonl' },
  'DELETE /api/datasets/{name}': {
    status: 'deleted',
    message: 'Dataset support.jsonl was deleted',
    bin_id: '3c1f7c1e-52d7-4b0a-9f2b-6a51a1d0c7be',
  },
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
};
