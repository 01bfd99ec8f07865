const accessKey = {
  id: '4f9a02c7',
  name: 'laptop',
  scope: 'full',
  budget: null,
  used: null,
  recording: false,
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

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/keys': { keys: [accessKey] },
  'POST /api/keys': {
    ...accessKey,
    last_used_at: null,
    key: 'hone_4f9a02c7_Q2xpbWIgdGhlIGhpbGwsIHNlZSB0aGUgc2VhIGFnYWk',
  },
  'PATCH /api/keys/{id}': { ...accessKey, recording: true },
  'DELETE /api/keys/{id}': { status: 'deleted', message: 'Access key 4f9a02c7 was removed' },
  'GET /api/session': signedOut,
  'POST /api/session': { ...signedOut, signed_in: true, key_name: 'laptop', scope: 'full' },
  'DELETE /api/session': signedOut,
};
