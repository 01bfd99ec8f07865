import { job } from '../jobs/examples.ts';

const chat = {
  id: 'c1',
  model_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  name: null,
  created_at: '2026-11-26T09:00:00.000Z',
  updated_at: '2026-11-26T09:00:04.000Z',
};
const summary = { ...chat, title: 'My parcel has not come.', turns: 1 };
const wholeChat = {
  ...chat,
  chosen: {},
  tools: [],
  turns: [
    {
      id: 'a',
      after: '',
      like: null,
      system: '',
      prompt: 'My parcel has not come.',
      results: [],
      answers: [
        {
          name: 'Qwen3-0.6B-support · Fine-tuned',
          text: 'Shipping: We will trace it.',
          reasoning: null,
          calls: [],
          tokens: 8,
          prompt_tokens: 21,
          generation_ms: 310,
          first_token_ms: 41,
          end: 'complete' as const,
          stop_reason: null,
          rating: 'good' as const,
          correction: null,
        },
      ],
    },
  ],
};

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/playground/chats': { chats: [summary] },
  'GET /api/playground/chats/{chat_id}': wholeChat,
  'PUT /api/playground/chats/{chat_id}': wholeChat,
  'PATCH /api/playground/chats/{chat_id}': { ...summary, name: 'A lost parcel', title: 'A lost parcel' },
  'DELETE /api/playground/chats/{chat_id}': {
    status: 'deleted',
    message: 'Chat c1 was deleted',
    bin_id: '3c1f7c1e-52d7-4b0a-9f2b-6a51a1d0c7be',
  },
  'GET /api/playground/memory': {
    total_bytes: 16_777_216_000,
    free_bytes: 9_663_676_416,
    models: [
      {
        id: 1,
        model_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
        name: 'Qwen3-0.6B-support',
        base_model: 'Qwen/Qwen3-0.6B',
        base: 'b1946ac92492d2347c6235b4d2611184',
        loaded: false,
        needs_bytes: 1_578_917_888,
        fits: true,
      },
    ],
  },
  'POST /api/playground/base': {
    generated_text: 'I am sorry to hear that. Have you',
    prompt: 'My parcel has not come.',
    tokens_generated: 9,
    generation_time_ms: 371,
  },
  'GET /api/playground/figures': {
    running: 2,
    waiting: 0,
    ended: 418,
    failed: 1,
    prompt_tokens: 96_204,
    cached_tokens: 61_330,
    generated_tokens: 40_112,
    guessed_tokens: 7_905,
    first_token_ms: 84.2,
    tokens_per_second: 61.7,
    processes: [{ models: ['support-qwen'], running: 2, waiting: 0, memory_bytes: 731_906_048 }],
    preparing: { kind: 'base', name: job.model_name, progress: 0.42 },
  },
  'DELETE /api/playground/preparing': { stopped: true },
};
