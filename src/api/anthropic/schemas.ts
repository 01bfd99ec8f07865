import * as v from 'valibot';

const usage = v.object({
  /** Tokens of the prompt that were evaluated; those kept from an earlier request are `cache_read_input_tokens`. */
  input_tokens: v.number(),
  cache_creation_input_tokens: v.literal(0),
  cache_read_input_tokens: v.number(),
  output_tokens: v.number(),
});

export const message = v.object({
  id: v.string(),
  type: v.literal('message'),
  role: v.literal('assistant'),
  model: v.string(),
  content: v.array(
    v.variant('type', [
      v.object({ type: v.literal('text'), text: v.string() }),
      /** What the model wrote before its answer, as its template marks it. */
      v.object({ type: v.literal('thinking'), thinking: v.string(), signature: v.literal('') }),
      v.object({ type: v.literal('tool_use'), id: v.string(), name: v.string(), input: v.unknown() }),
    ]),
  ),
  stop_reason: v.nullable(v.picklist(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use'])),
  stop_sequence: v.nullable(v.string()),
  usage,
  /** Hone's own: where the answer or a call breaks its schema in what no grammar holds; absent where it does not. */
  schema_errors: v.optional(v.array(v.string())),
});
export type Message = v.InferOutput<typeof message>;

export const count = v.object({ input_tokens: v.number() });
export const error = v.object({
  type: v.literal('error'),
  error: v.object({ type: v.string(), message: v.string() }),
});
/** The data of a stream's event. */
export const messageEvent = v.union([v.looseObject({ type: v.string() }), error]);
