const answered = {
  id: 'chatcmpl-4f9d2c5a7c9b4f9d2c5a7c9b4f9d2c5a',
  created_at: '2026-11-21T11:00:00.000Z',
  model: 'support',
  rating: 'down',
  milliseconds: 812.4,
  prompt_tokens: 24,
  answer_tokens: 11,
};
const message = { reasoning: null, calls: [], call_id: null };

/** What answers left out, and what rows are like. */
export const compared = {
  skipped: {
    no_correction: 0,
    unrated: 0,
    rated_down: 0,
    cut_off: 0,
    no_text: 0,
    duplicate: 1,
    near_duplicate: 0,
    overlap: 1,
  },
  near_duplicates: { rows: 0, compared_rows: 13, examples: [] },
  overlap: {
    dataset: 'held-out.jsonl',
    rows: 1,
    compared_rows: 50,
    examples: [
      {
        completion_id: answered.id,
        text: 'where is my parcel',
        like: 'Where is my parcel?',
        similarity: 1,
      },
    ],
    complete: true,
  },
  capped: false,
  masked: {
    rows: 12,
    found: { EMAIL_ADDRESS: 2, PHONE_NUMBER: 1 },
    names: false,
    examples: [{ before: 'Write to ada@example.com.', after: 'Write to <EMAIL_ADDRESS>.' }],
  },
};

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/traffic': {
    answers: [
      {
        ...answered,
        question: 'Where is my parcel?',
        answer: 'Billing: Your invoice is on its way.',
        corrected: true,
      },
    ],
    has_more: false,
  },
  'GET /api/traffic/facets': {
    answers: 512,
    size_bytes: 1_204_331,
    models: [{ value: 'support', count: 512 }],
    days: 30,
    limit_bytes: 1_073_741_824,
  },
  'GET /api/traffic/{completion_id}': {
    ...answered,
    correction: 'Shipping: We trace your parcel today.',
    key: { id: 'k3x9q2ab', name: 'website' },
    messages: [{ ...message, role: 'user', content: 'Where is my parcel?' }],
    answer: { ...message, role: 'assistant', content: 'Billing: Your invoice is on its way.' },
    finish_reason: 'stop',
    metadata: { topic: 'shipping' },
    request: {
      id: 'req_4f9d2c5a7c9b4f9d2c5a7c9b4f9d2c5a',
      temperature: 1,
      top_p: 1,
      seed: null,
      tools: null,
      response_format: null,
    },
  },
  'POST /api/traffic/rows': {
    rows: 12,
    ...compared,
  },
};
