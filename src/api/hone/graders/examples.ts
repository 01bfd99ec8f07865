import { graderExample } from '../../../domain/graders/grader-definition.ts';

const grader = {
  name: graderExample.name,
  grader: graderExample,
  created_at: '2026-11-28T12:00:00.000Z',
  updated_at: '2026-11-28T12:00:00.000Z',
};

const urls = { urls: ['https://api.openai.com/v1'] };

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/judge_keys': urls,
  'PUT /api/judge_keys': urls,
  'DELETE /api/judge_keys': { urls: [] },
  'GET /api/graders': { graders: [grader] },
  'POST /api/graders': grader,
  'GET /api/graders/{name}': grader,
  'PUT /api/graders/{name}': grader,
  'POST /api/graders/test': {
    results: [
      {
        answer: 'Billing',
        value: 1,
        parts: {},
        error: null,
        explanation: "'Billing' equals 'Billing'",
        kinds: [],
      },
    ],
    mean: 1,
    errors: 0,
  },
  'DELETE /api/graders/{name}': { status: 'deleted', message: 'right-label was deleted' },
};
