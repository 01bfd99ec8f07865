import type { Services } from '../../domain/services.ts';
import { type Face, withExamples } from '../../http/route.ts';
import { presentError } from './errors.ts';
import { messageRoutes } from './routes.ts';
import { error } from './schemas.ts';

const example = {
  id: 'msg_4f9d2c',
  type: 'message',
  role: 'assistant',
  model: 'Qwen3-0.6B-support',
  content: [{ type: 'text', text: 'Shipping: We will trace your parcel today.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: {
    input_tokens: 12,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 11,
  },
};

/** `/v1/messages` in Anthropic's shape, for tools that speak only that. */
export function createAnthropicFace(services: Services) {
  return {
    name: 'anthropic',
    requestIds: true,
    routes: withExamples(messageRoutes(services), {
      'POST /v1/messages': example,
      'POST /v1/messages/count_tokens': { input_tokens: 12 },
    }),
    presentError,
    error,
  } satisfies Face;
}
