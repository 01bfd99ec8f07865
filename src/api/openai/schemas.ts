import * as v from 'valibot';
import {
  lengthBound,
  promptBound,
  stepBound,
  temperatureBound,
  topPBound,
} from '../../domain/playground/generation-bounds.ts';

const or = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema));
/** valibot's `object` also accepts arrays. */
export const notList = v.custom<object>((value) => !Array.isArray(value), 'must be an object');
const stopText = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));

/** Fields shared by both kinds of completion; other fields are accepted and ignored. */
const common = {
  model: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
  max_tokens: or(lengthBound),
  temperature: or(temperatureBound),
  top_p: or(topPBound),
  stop: or(v.union([stopText, v.pipe(v.array(stopText), v.maxLength(16))])),
  seed: or(v.pipe(v.number(), v.integer())),
  stream: or(v.boolean()),
  /** Hone's own field: answer with the weights of this step. */
  checkpoint: or(stepBound),
  stream_options: or(v.intersect([v.object({ include_usage: or(v.boolean()) }), notList])),
  n: or(v.literal(1, 'must be 1: one answer at a time')),
};

const textPart = v.object({ type: v.literal('text', 'only text is supported'), text: v.string() });
const message = v.object({
  role: v.picklist(['system', 'developer', 'user', 'assistant']),
  content: v.union([v.string(), v.array(textPart)], 'must be a text or a list of text parts'),
});

export const chatBody = v.object({
  ...common,
  /** Hone's own field: answer with the base model. */
  as_base: or(v.boolean()),
  messages: v.pipe(v.array(message), v.minLength(1, 'must hold at least one message'), v.maxLength(10_000)),
  max_completion_tokens: or(lengthBound),
});
export const completionBody = v.object({
  ...common,
  prompt: v.union(
    [promptBound, v.pipe(v.array(promptBound), v.length(1))],
    'must be a text (or a list of one)',
  ),
});

const usage = v.object({
  prompt_tokens: v.number(),
  completion_tokens: v.number(),
  total_tokens: v.number(),
});
const head = { id: v.string(), object: v.string(), created: v.number(), model: v.string() };
const finish = { index: v.number(), finish_reason: v.nullable(v.string()) };

export const chatCompletion = v.object({
  ...head,
  choices: v.array(v.object({ ...finish, message: v.object({ role: v.string(), content: v.string() }) })),
  usage,
});
/** A chunk of a streamed response; the last one has the usage if requested. */
const chatPiece = v.object({
  ...head,
  choices: v.array(
    v.object({
      ...finish,
      delta: v.object({ role: v.optional(v.string()), content: v.optional(v.nullable(v.string())) }),
    }),
  ),
  usage: v.optional(v.nullable(usage)),
});
export const completion = v.object({
  ...head,
  choices: v.array(v.object({ ...finish, text: v.string() })),
  usage,
});
export const model = v.object({
  id: v.string(),
  object: v.string(),
  created: v.number(),
  owned_by: v.string(),
});
export const models = v.object({ object: v.string(), data: v.array(model) });
export const error = v.object({
  error: v.object({
    message: v.string(),
    type: v.string(),
    param: v.nullable(v.string()),
    code: v.nullable(v.string()),
  }),
});
/** The data of a stream event; a failure after the first event is sent as another event. */
export const chatEvent = v.union([chatPiece, error]);
