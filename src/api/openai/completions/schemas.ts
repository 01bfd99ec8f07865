import * as v from 'valibot';
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
const finish = {
  index: v.number(),
  finish_reason: v.nullable(v.string()),
  /** As vLLM has it: the text of `stop` that ended the answer; absent where none did. */
  stop_reason: v.optional(v.string()),
};
const ofChat = { ...finish, logprobs: v.nullable(chatLogprobs) };

export const chatCompletion = v.object({
  ...head,
  choices: v.array(
    v.object({
      ...ofChat,
      message: v.object({
        role: v.string(),
        content: v.string(),
        refusal: v.null(),
        /** What the model wrote before its answer, if its template marks reasoning. */
        reasoning_content: v.optional(v.string()),
      }),
    }),
  ),
  usage,
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
      }),
    }),
  ),
  usage: v.optional(v.nullable(usage)),
});
export const completion = v.object({
  ...head,
  choices: v.array(v.object({ ...finish, logprobs: v.nullable(textLogprobs), text: v.string() })),
  usage,
});
/** The data of a stream event; a failure after the first event is sent as another event. */
export const chatEvent = v.union([chatPiece, error]);
