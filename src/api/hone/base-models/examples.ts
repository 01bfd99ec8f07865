/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/base_models': {
    models: [
      { model: '/home/ada/.cache/hone/starter-a6c4bf7fbd56', kind: 'starter', gguf: null },
      { model: 'Qwen/Qwen3-0.6B', kind: 'hub', gguf: null },
      {
        model:
          '/home/ada/.lmstudio/models/unsloth/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf',
        kind: 'gguf',
        gguf: {
          name: 'unsloth/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf',
          program: 'LM Studio',
          bytes: 105_000_000,
          architecture: 'llama',
          quantization: 'Q4_K_M',
        },
      },
    ],
  },
  'POST /api/base_models/check': {
    usable: true,
    problem: null,
    hub: { downloads: 1_204_377, likes: 512 },
    notes: [],
    adapter: null,
  },
  'GET /api/hub/account': { name: 'ada', organizations: ['analytical'], problem: null },
};
