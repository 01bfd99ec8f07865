/** A request for an answer and its result, from the API's handlers to the process that holds the model. */
import * as v from 'valibot';
import { type SamplingName, samplingNames, samplingParameters } from '../../contract/sampling.ts';

/** A tool, as templates list it. */
const tool = v.strictObject({
  type: v.literal('function'),
  function: v.strictObject({
    name: v.string(),
    description: v.exactOptional(v.string()),
    parameters: v.exactOptional(v.record(v.string(), v.unknown())),
  }),
});
const toolUse = v.strictObject({
  tools: v.array(tool),
  /** Whether the answer may be a call, must be one, or must be one of this tool. */
  choice: v.union([v.picklist(['auto', 'required']), v.strictObject({ name: v.string() })]),
  /** Whether an answer may have several calls. */
  parallel: v.boolean(),
  /** The tools whose arguments must follow their schema where the answer must be a call. */
  strict: v.array(v.string()),
});
export type ToolUse = v.InferOutput<typeof toolUse>;

/** The tools that an answer may call. */
export const callable = ({ tools, choice }: Pick<ToolUse, 'tools' | 'choice'>): ToolUse['tools'] =>
  tools.filter(({ function: { name } }) => typeof choice === 'string' || choice.name === name);

const said = { id: v.string(), name: v.string() };
const input = v.variant('kind', [
  v.strictObject({
    kind: v.literal('messages'),
    messages: v.array(
      v.strictObject({
        role: v.string(),
        content: v.string(),
        reasoning_content: v.optional(v.string()),
        calls: v.optional(v.array(v.strictObject({ ...said, arguments: v.string() }))),
        answers: v.optional(v.strictObject(said)),
      }),
    ),
    /** The tools that the answer may call. */
    tools: v.optional(toolUse),
    /** Turns reasoning on or off where the template can. */
    thinking: v.optional(v.boolean()),
    /** Whether the last message is the beginning of the answer, which goes on from there. */
    continues: v.optional(v.boolean()),
  }),
  v.strictObject({
    kind: v.literal('text'),
    text: v.string(),
    /** What follows the answer, for models whose tokenizer has infilling tokens. */
    suffix: v.optional(v.string()),
  }),
  v.strictObject({ kind: v.literal('tokens'), tokens: v.array(v.number()) }),
]);

const sampling = Object.fromEntries(
  samplingNames.map((name) => [name, v.optional(v.number(), samplingParameters[name].neutral)]),
) as { readonly [N in SamplingName]: v.OptionalSchema<v.NumberSchema<undefined>, number> };

/** Every part of a request hands these fields on as they are; defaults are filled in where a process is asked. */
const generation = v.object({
  input,
  /** With 0, the prompt alone is evaluated, as far as its log-probabilities are asked for. */
  maxTokens: v.number(),
  temperature: v.number(),
  topP: v.number(),
  seed: v.optional(v.nullable(v.number()), null),
  stop: v.optional(v.array(v.string()), []),
  /** Whether the answer goes on where the model ends it, up to its limit or a string of `stop`. */
  ignoreEos: v.optional(v.boolean(), false),
  /** Who asks, such as an address; the requests of one caller do not keep those of others waiting. */
  caller: v.optional(v.nullable(v.string()), null),
  ...sampling,
  /** Token IDs with what is added to their logits, −100 to 100. */
  logitBias: v.optional(v.record(v.string(), v.number()), {}),
  /** Log-probabilities of the answer's tokens, and of so many of the most likely ones in the place of each (0 to 20). */
  logprobs: v.optional(v.nullable(v.number()), null),
  /** Whether the answer begins with the prompt; with `logprobs`, its tokens are rated, too. */
  echo: v.optional(v.boolean(), false),
  /** Whether what earlier requests evaluated of the prompt is used. Sums are added in another order then. */
  cache: v.optional(v.boolean(), true),
  /**
   * The JSON schema of an answer that is not a call; `jsonSchemaFaults` tells whether it can be used. Where the answer may be
   * a call instead, both are held to their schemas.
   */
  schema: v.optional(v.nullable(v.record(v.string(), v.unknown())), null),
  /** Whether prompt lookup may draft tokens, which changes the speed alone. */
  lookup: v.optional(v.boolean(), true),
});
export type Generation = v.InferInput<typeof generation>;

/** What a process is asked; fields that are for others are left out. */
export const generateOrder = v.object({
  ...generation.entries,
  /** Models that share a file have templates of their own. */
  templatePath: v.string(),
  /** Adapters to add to the model; a negative scale subtracts one that is merged into it. */
  adapters: v.optional(v.array(v.strictObject({ path: v.string(), scale: v.number() })), []),
});
export type GenerateOrder = v.InferOutput<typeof generateOrder>;

const rated = {
  token: v.number(),
  /** Its bytes as text; those of an incomplete character become U+FFFD. */
  text: v.string(),
  bytes: v.array(v.number()),
  /** The natural logarithm of its probability. */
  logprob: v.number(),
};
const choice = v.strictObject({
  ...rated,
  logprob: v.nullable(rated.logprob),
  top: v.array(v.strictObject(rated)),
});
export const choices = v.array(choice);
/**
 * A token of an answer, and the most likely tokens in its place. The first token of a prompt, which follows nothing, has
 * no probability.
 */
export type TokenChoice = v.InferOutput<typeof choice>;
export type RatedToken = TokenChoice['top'][number];

export const generateResult = v.strictObject({
  text: v.string(),
  promptTokens: v.number(),
  /** Tokens of the prompt that were kept from an earlier request, or evaluated by another one. */
  cachedTokens: v.number(),
  /** Whether others were answered in some of its steps. */
  isShared: v.exactOptional(v.boolean()),
  generatedTokens: v.number(),
  /** Those of them that were drafted, and evaluated in the same step as the token before them. */
  lookedUpTokens: v.exactOptional(v.number()),
  finishReason: v.picklist(['stop', 'length', 'aborted']),
  /** The text of the request's `stop` that ended the answer. */
  stoppedAt: v.optional(v.string()),
  timeToFirstTokenMs: v.number(),
  durationMs: v.number(),
  /** The tokens of the text, with `logprobs`; with `echo`, those of the prompt first. */
  tokens: v.optional(choices),
});
export type GenerateResult = v.InferOutput<typeof generateResult>;

/** The result of a request that was aborted before its answer began. */
export const abortedResult = (): GenerateResult & { lookedUpTokens: number } => ({
  text: '',
  promptTokens: 0,
  cachedTokens: 0,
  generatedTokens: 0,
  lookedUpTokens: 0,
  finishReason: 'aborted',
  timeToFirstTokenMs: 0,
  durationMs: 0,
});
