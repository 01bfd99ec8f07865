/** Example responses for the OpenAPI document. */
const model = { id: 'Qwen3-0.6B-support', object: 'model', created: 1_795_262_400, owned_by: 'hone' };
const usage = { prompt_tokens: 12, completion_tokens: 11, total_tokens: 23 };
const text = 'Shipping: We will trace your parcel today.';

const file = {
  id: 'file-9f2c4e6a8b0d1f3e5a7c9b1d',
  object: 'file',
  bytes: 48_213,
  created_at: 1_795_262_100,
  filename: 'support.jsonl',
  purpose: 'fine-tune',
  status: 'processed',
};

export const examples: Readonly<Record<string, unknown>> = {
  'GET /v1/models': { object: 'list', data: [model] },
  'GET /v1/models/{model}': model,
  'POST /v1/files': file,
  'GET /v1/files': { object: 'list', data: [file], first_id: file.id, last_id: file.id, has_more: false },
  'GET /v1/files/{file_id}': file,
  'DELETE /v1/files/{file_id}': { id: file.id, object: 'file', deleted: true },
  'POST /v1/chat/completions': {
    id: 'chatcmpl-4f9d2c',
    object: 'chat.completion',
    created: 1_795_262_460,
    model: model.id,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage,
  },
  'POST /v1/completions': {
    id: 'cmpl-4f9d2c',
    object: 'text_completion',
    created: 1_795_262_460,
    model: model.id,
    choices: [{ index: 0, text, finish_reason: 'stop' }],
    usage,
  },
};
