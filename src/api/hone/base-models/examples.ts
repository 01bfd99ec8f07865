/** An answer of each route, for the OpenAPI document. */
const download = {
  id: '5b1f8a52-5d0c-4ab3-9b6f-0c1f5a1f9a77',
  model: 'Qwen/Qwen3-0.6B',
  state: 'running',
  progress: 0.42,
  done_bytes: 638_000_000,
  total_bytes: 1_519_000_000,
  error: null,
};

export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/base_models': {
    models: [
      {
        model: '/home/ada/.cache/hone/starter-a6c4bf7fbd56',
        kind: 'starter',
        answers_as: 'base:/home/ada/.cache/hone/starter-a6c4bf7fbd56',
        gguf: null,
        bytes: 9_400_000,
        parameters: 4_600_000,
        memory_bytes: 410_000_000,
        fits: true,
        last_used: null,
      },
      {
        model: 'Qwen/Qwen3-0.6B',
        kind: 'hub',
        answers_as: 'base:Qwen/Qwen3-0.6B',
        gguf: null,
        bytes: 1_519_000_000,
        parameters: 596_000_000,
        memory_bytes: 3_400_000_000,
        fits: true,
        last_used: '2026-11-21T10:30:00.000Z',
      },
      {
        model:
          '/home/ada/.lmstudio/models/unsloth/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf',
        kind: 'gguf',
        answers_as: 'base:unsloth/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf',
        gguf: {
          name: 'unsloth/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf',
          program: 'LM Studio',
          bytes: 105_000_000,
          architecture: 'llama',
          quantization: 'Q4_K_M',
        },
        bytes: 105_000_000,
        parameters: 134_515_008,
        memory_bytes: 1_100_000_000,
        fits: true,
        last_used: null,
      },
    ],
  },
  'DELETE /api/base_models': { status: 'deleted', message: 'Qwen/Qwen3-0.6B was deleted' },
  'GET /api/base_models/downloads': { downloads: [download] },
  'POST /api/base_models/downloads': download,
  'DELETE /api/base_models/downloads/{id}': {
    status: 'deleted',
    message: `Download ${download.id} was cancelled`,
  },
  'GET /api/base_models/answers': {
    name: 'base:Qwen/Qwen3-0.6B',
    chat_template: true,
    context_length: 40_960,
    tools_fault: null,
    gguf: false,
  },
  'POST /api/base_models/check': {
    usable: true,
    problem: null,
    hub: { downloads: 1_204_377, likes: 512 },
    notes: [],
    adapter: null,
  },
  'GET /api/hub/account': {
    name: 'ada',
    organizations: ['analytical'],
    problem: null,
    token_from: 'settings',
  },
  'PUT /api/hub/token': { name: 'ada', organizations: ['analytical'], problem: null, token_from: 'settings' },
  'DELETE /api/hub/token': {
    name: null,
    organizations: [],
    problem: { kind: 'forbidden', message: 'Pushing to the hub needs a token, but none is set.' },
    token_from: null,
  },
};
