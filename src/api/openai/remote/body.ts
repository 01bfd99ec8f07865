import * as v from 'valibot';
import { metadata } from '../fine-tuning/job-schemas.ts';
import { modelName, notList, or } from '../schemas.ts';

const object = v.intersect([v.looseObject({}), notList]);
/** A message, as far as a kept answer and rows need to know it. */
const message = v.intersect([
  v.looseObject({
    role: v.string(),
    content: or(v.union([v.string(), v.array(object)], 'must be a text or a list of parts')),
    tool_calls: or(v.array(object)),
  }),
  notList,
]);

/**
 * A chat request that another service answers. That service judges all fields, so these are what is kept of a request, and
 * what says how it is answered.
 */
export const remoteChatBody = v.looseObject({
  model: modelName,
  messages: v.pipe(v.array(message), v.minLength(1, 'must not be empty')),
  stream: or(v.boolean()),
  stream_options: or(v.intersect([v.looseObject({ include_usage: or(v.boolean()) }), notList])),
  store: or(v.boolean()),
  metadata: or(metadata),
  user: or(v.string()),
  tools: or(v.array(object)),
  temperature: or(v.number()),
  top_p: or(v.number()),
  seed: or(v.number()),
  presence_penalty: or(v.number()),
  frequency_penalty: or(v.number()),
});
export type RemoteChatBody = v.InferOutput<typeof remoteChatBody>;

const logprobs = v.looseObject({ content: or(v.array(v.unknown())) });
/** The text of an answer; some services give it in parts, beside those of reasoning. */
const content = v.union([
  v.string(),
  v.pipe(
    v.array(v.looseObject({ text: v.optional(v.string(), '') })),
    v.transform((parts) => parts.map(({ text }) => text).join('')),
  ),
]);
const said = {
  role: or(v.string()),
  content: or(content),
  refusal: or(v.string()),
  reasoning_content: or(v.string()),
};
const choice = { index: v.optional(v.number(), 0), finish_reason: or(v.string()), logprobs: or(logprobs) };

/** An answer in full. What it has beside is passed on, too. */
export const remoteCompletion = v.looseObject({
  choices: v.array(
    v.looseObject({ ...choice, message: v.looseObject({ ...said, tool_calls: or(v.array(v.unknown())) }) }),
  ),
  usage: v.optional(v.unknown()),
});

const callPart = v.looseObject({
  /** Some services leave it out, and begin each call with its ID. */
  index: or(v.number()),
  id: or(v.string()),
  function: or(v.looseObject({ name: or(v.string()), arguments: or(v.string()) })),
});
/** A chunk of a streamed answer. */
export const remoteChunk = v.looseObject({
  choices: v.array(
    v.looseObject({
      ...choice,
      delta: or(v.looseObject({ ...said, tool_calls: or(v.array(callPart)) })),
    }),
  ),
  usage: v.optional(v.unknown()),
});
export type RemoteCompletion = v.InferOutput<typeof remoteCompletion>;
export type RemoteChunk = v.InferOutput<typeof remoteChunk>;

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const usage = v.looseObject({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: or(v.looseObject({ cached_tokens: or(count) })),
});
/** What an answer says of its tokens, as kept answers have it; `null` if it says nothing. */
export function usageIn(value: unknown) {
  const read = v.safeParse(usage, value);
  if (!read.success) return null;
  const { prompt_tokens: prompt, completion_tokens: answer, prompt_tokens_details: more } = read.output;
  return {
    prompt_tokens: prompt,
    completion_tokens: answer,
    total_tokens: prompt + answer,
    prompt_tokens_details: { cached_tokens: more?.cached_tokens ?? 0 },
  };
}

const calls = v.looseObject({
  id: v.optional(v.string(), ''),
  function: v.looseObject({ name: v.string(), arguments: v.string() }),
});
/** The calls of functions in an answer, as kept answers have them. */
export const callsIn = (given: readonly unknown[] | null | undefined) =>
  (given ?? []).flatMap((one) => {
    const read = v.safeParse(calls, one);
    if (!read.success) return [];
    const { id, function: called } = read.output;
    const { name, arguments: text } = called;
    return [{ id, type: 'function' as const, function: { name, arguments: text } }];
  });
