import { row } from '../datasets/examples.ts';

const importedRow = { instruction: 'Answer the customer', input: row.input, output: row.output };
const proposedImport = {
  id: '0d5c2f8e-6f5e-4d0f-9d52-8d3b1c7a4e10',
  state: 'proposed',
  source: { kind: 'upload', name: 'support.csv', size_bytes: 41_230 },
  container: 'csv',
  unit: 'line',
  compression: null,
  rows_at: null,
  lists: [],
  shape: 'alpaca',
  columns: Object.keys(importedRow).map((name) => ({ name, type: 'text' })),
  mapping: null,
  used: Object.keys(importedRow),
  guessed: false,
  target: 'input-output',
  targets: [{ shape: 'input-output', fields: ['input', 'output'] }],
  samples: [
    {
      row: 2,
      before: importedRow,
      after: { ...row, input: `Answer the customer\n\n${row.input}` },
      problem: null,
    },
  ],
  row_count: { rows: 400, is_exact: true, checked: 400, fit: 400, left_out: [], fault: null },
  progress: { done_bytes: 0, total_bytes: 41_230, rows: 0, skipped: 0 },
  dataset: null,
  problems: [],
  total_problems: 0,
  left_out: [],
  error: null,
};

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/hub/dataset': {
    repo: 'ada/support',
    gated: false,
    configs: [{ name: 'default', splits: [{ name: 'train', files: 1, size_bytes: 41_230 }] }],
  },
  'POST /api/imports': proposedImport,
  'GET /api/imports': { imports: [proposedImport] },
  'GET /api/imports/{id}': {
    ...proposedImport,
    state: 'completed',
    progress: { done_bytes: 41_230, total_bytes: 41_230, rows: 400, skipped: 0 },
    dataset: 'support.jsonl',
  },
  'POST /api/imports/{id}/preview': proposedImport,
  'POST /api/imports/{id}/start': { ...proposedImport, state: 'running' },
  'DELETE /api/imports/{id}': {
    status: 'deleted',
    message: 'Import 0d5c2f8e-6f5e-4d0f-9d52-8d3b1c7a4e10 was deleted',
  },
};
