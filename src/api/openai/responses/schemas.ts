import * as v from 'valibot';
import { error } from '../schemas.ts';
import { callItem, item, messageItem, reasoningItem } from './items.ts';

const textOrNull = v.nullable(v.string());
const output = v.variant('type', [messageItem, callItem, reasoningItem]);
const toolChoice = v.union([v.string(), v.object({ type: v.literal('function'), name: v.string() })]);

export const response = v.object({
  id: v.string(),
  object: v.literal('response'),
  created_at: v.number(),
  completed_at: v.nullable(v.number()),
  status: v.picklist(['in_progress', 'completed', 'incomplete', 'failed']),
  background: v.literal(false),
  error: v.nullable(v.object({ code: v.string(), message: v.string() })),
  incomplete_details: v.nullable(v.object({ reason: v.literal('max_output_tokens') })),
  instructions: textOrNull,
  max_output_tokens: v.nullable(v.number()),
  metadata: v.record(v.string(), v.string()),
  model: v.string(),
  output: v.array(output),
  parallel_tool_calls: v.boolean(),
  previous_response_id: textOrNull,
  prompt_cache_key: textOrNull,
  reasoning: v.object({ effort: textOrNull, summary: textOrNull }),
  safety_identifier: textOrNull,
  service_tier: v.literal('default'),
  store: v.boolean(),
  temperature: v.number(),
  text: v.object({
    format: v.variant('type', [
      v.object({ type: v.picklist(['text', 'json_object']) }),
      v.object({
        type: v.literal('json_schema'),
        name: v.string(),
        description: textOrNull,
        schema: v.record(v.string(), v.unknown()),
        strict: v.boolean(),
      }),
    ]),
    verbosity: v.string(),
  }),
  tool_choice: toolChoice,
  tools: v.array(
    v.object({
      type: v.literal('function'),
      name: v.string(),
      description: textOrNull,
      parameters: v.nullable(v.record(v.string(), v.unknown())),
      strict: v.boolean(),
    }),
  ),
  top_logprobs: v.number(),
  top_p: v.number(),
  truncation: v.literal('disabled'),
  usage: v.nullable(
    v.object({
      input_tokens: v.number(),
      /** Tokens of the prompt that were kept from an earlier request; nothing is charged for keeping them. */
      input_tokens_details: v.object({ cached_tokens: v.number(), cache_write_tokens: v.literal(0) }),
      output_tokens: v.number(),
      /** By the share of the text that is reasoning. */
      output_tokens_details: v.object({ reasoning_tokens: v.number() }),
      total_tokens: v.number(),
    }),
  ),
  user: textOrNull,
  /** Hone's own: where the answer or a call breaks its schema in what no grammar holds; absent where it does not. */
  schema_errors: v.exactOptional(v.array(v.string())),
});
export type Response = v.InferOutput<typeof response>;

/** The data of a stream's event. */
export const responseEvent = v.union([
  v.looseObject({ type: v.string(), sequence_number: v.number() }),
  error,
]);

export const items = v.object({
  object: v.literal('list'),
  data: v.array(item),
  first_id: textOrNull,
  last_id: textOrNull,
  has_more: v.boolean(),
});
