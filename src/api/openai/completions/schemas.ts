import * as v from 'valibot';
import { ratings } from '../../../contract/graders/feedback.ts';
import { error } from '../schemas.ts';
import { chatLogprobs, textLogprobs } from './logprobs.ts';

const usage = v.object({
  prompt_tokens: v.number(),
  completion_tokens: v.number(),
  total_tokens: v.number(),
  /** Tokens of the prompt that were kept from an earlier request. */
  prompt_tokens_details: v.object({ cached_tokens: v.number() }),
});
const head = { id: v.string(), object: v.string(), created: v.number(), model: v.string() };
/** `hone`; with `-shared` where the same request may get another answer at temperature 0. */
const fingerprint = { system_fingerprint: v.string() };
const finish = {
  index: v.number(),
  finish_reason: v.nullable(v.string()),
  /** As vLLM has it: the text of `stop` that ended the answer; absent where none did. */
  stop_reason: v.optional(v.string()),
};
const ofChat = {
  ...finish,
  logprobs: v.nullable(chatLogprobs),
  /** Hone's own: where the answer or a call breaks its schema in what no grammar holds; absent where it does not. */
  schema_errors: v.optional(v.array(v.string())),
};

const called = { name: v.string(), arguments: v.string() };
const toolCall = v.object({ id: v.string(), type: v.literal('function'), function: v.object(called) });
/** The first part of a call has its ID and name, the others have the text of its arguments. */
const toolCallPart = v.object({
  index: v.number(),
  id: v.optional(v.string()),
  type: v.optional(v.literal('function')),
  function: v.object({ name: v.optional(v.string()), arguments: v.string() }),
});

export const chatCompletion = v.object({
  ...head,
  choices: v.array(
    v.object({
      ...ofChat,
      message: v.object({
        role: v.string(),
        /** `null` if the answer is only calls. */
        content: v.nullable(v.string()),
        /** Only of a model of another service. */
        refusal: v.nullable(v.string()),
        /** What the model wrote before its answer, if its template marks reasoning. */
        reasoning_content: v.optional(v.string()),
        /** The calls of the request's tools. */
        tool_calls: v.optional(v.array(toolCall)),
      }),
    }),
  ),
  usage,
  ...fingerprint,
});
/** A chunk of a streamed response; the last one has the usage if requested. */
const chatPiece = v.object({
  ...head,
  choices: v.array(
    v.object({
      ...ofChat,
      delta: v.object({
        role: v.optional(v.string()),
        content: v.optional(v.nullable(v.string())),
        reasoning_content: v.optional(v.string()),
        tool_calls: v.optional(v.array(toolCallPart)),
      }),
    }),
  ),
  usage: v.optional(v.nullable(usage)),
  /** In the last chunk of a choice. */
  system_fingerprint: v.optional(v.string()),
});
export const completion = v.object({
  ...head,
  choices: v.array(v.object({ ...finish, logprobs: v.nullable(textLogprobs), text: v.string() })),
  usage,
  ...fingerprint,
});
/** The data of a stream event; a failure after the first event is sent as another event. */
export const chatEvent = v.union([chatPiece, error]);

/** A completion that is kept, with what its request asked for. */
export const storedCompletion = v.object({
  ...chatCompletion.entries,
  /** `null` if another service gave the answer without them. */
  usage: v.nullable(usage),
  request_id: v.string(),
  input_user: v.nullable(v.string()),
  tools: v.nullable(v.array(v.unknown())),
  tool_choice: v.unknown(),
  response_format: v.unknown(),
  temperature: v.number(),
  top_p: v.number(),
  seed: v.nullable(v.number()),
  presence_penalty: v.number(),
  frequency_penalty: v.number(),
  service_tier: v.string(),
  metadata: v.record(v.string(), v.string()),
  /** Hone's own: from the request to the end of the answer. */
  milliseconds: v.number(),
  /** Hone's own: what people said of the answer. */
  feedback: v.object({ rating: v.nullable(v.picklist(ratings)), correction: v.nullable(v.string()) }),
});
export const storedMessage = v.looseObject({
  id: v.string(),
  role: v.string(),
  content: v.nullable(v.string()),
  /** The parts of a content that is a list. */
  content_parts: v.nullable(v.array(v.unknown())),
});
