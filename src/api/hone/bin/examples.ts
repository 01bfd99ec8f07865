const entry = {
  id: '3c1f7c1e-52d7-4b0a-9f2b-6a51a1d0c7be',
  kind: 'dataset',
  ref: 'support.jsonl',
  name: 'support.jsonl',
  size_bytes: 41_230,
  deleted_at: '2026-11-20T09:00:00.000Z',
  expires_at: '2026-11-27T09:00:00.000Z',
};

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/bin': { entries: [entry], size_bytes: 41_230, limit_bytes: 250_000_000_000 },
  'POST /api/bin/{id}/restore': { status: 'restored', message: 'support.jsonl was restored', entry },
  'DELETE /api/bin/{id}': { status: 'deleted', message: 'support.jsonl was deleted for good' },
  'DELETE /api/bin': { status: 'deleted', message: 'The bin is empty' },
};
