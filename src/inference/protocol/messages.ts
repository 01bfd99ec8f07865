import * as v from 'valibot';

const input = v.variant('kind', [
  v.strictObject({
    kind: v.literal('messages'),
    messages: v.array(
      v.strictObject({
        role: v.string(),
        content: v.string(),
        reasoning_content: v.optional(v.string()),
      }),
    ),
    /** Turns reasoning on or off where the template can. */
    thinking: v.optional(v.boolean()),
  }),
  v.strictObject({ kind: v.literal('text'), text: v.string() }),
]);

const grammar = v.variant('kind', [
  v.strictObject({ kind: v.literal('json') }),
  v.strictObject({ kind: v.literal('json-schema'), schema: v.record(v.string(), v.unknown()) }),
]);

/** Messages from the service to a child that holds one model. */
export const toWorker = v.variant('type', [
  v.strictObject({
    type: v.literal('load'),
    ggufPath: v.string(),
    gpu: v.union([v.literal('auto'), v.literal(false)]),
    trainingActive: v.boolean(),
  }),
  v.strictObject({
    type: v.literal('generate'),
    id: v.number(),
    input,
    /** Models that share a file have templates of their own. */
    templatePath: v.string(),
    /** Adapters to add to the model; a negative scale subtracts one that is merged into it. */
    adapters: v.array(v.strictObject({ path: v.string(), scale: v.number() })),
    maxTokens: v.number(),
    temperature: v.number(),
    topP: v.number(),
    seed: v.nullable(v.number()),
    stop: v.array(v.string()),
    /** Who asks; the requests of one caller do not keep those of others waiting. */
    caller: v.nullable(v.string()),
    presencePenalty: v.number(),
    frequencyPenalty: v.number(),
    /** What is added to the logits of tokens. */
    logitBias: v.array(v.tuple([v.number(), v.number()])),
    logprobs: v.nullable(v.number()),
    grammar: v.nullable(grammar),
    /** Whether tokens may be guessed from what the prompt has. */
    lookup: v.optional(v.boolean(), true),
  }),
  /** Asks for the vectors of texts, or of tokens. */
  v.strictObject({
    type: v.literal('embed'),
    id: v.number(),
    templatePath: v.string(),
    inputs: v.array(v.union([v.string(), v.array(v.number())])),
  }),
  v.strictObject({ type: v.literal('abort'), id: v.number() }),
  v.strictObject({ type: v.literal('training'), active: v.boolean() }),
  /** Asks for a sign of life. */
  v.strictObject({ type: v.literal('ping') }),
]);
export type ToWorker = v.InferOutput<typeof toWorker>;

/** What `load` has for a model that the trainer package runs (`python -m trainer answer`). */
export interface TrainedLoad {
  readonly base: { readonly name: string; readonly path: string | null };
  readonly task: string;
  readonly strategy: string;
  /** The training request's fields. */
  readonly settings: object;
  readonly templatePath: string;
  /** A folder to make and delete while loading. */
  readonly scratch: string;
  readonly trainingActive: boolean;
}

const rated = { token: v.number(), text: v.string(), bytes: v.array(v.number()), logprob: v.number() };
const choices = v.array(v.strictObject({ ...rated, top: v.array(v.strictObject(rated)) }));

export const generateResult = v.strictObject({
  text: v.string(),
  promptTokens: v.number(),
  cachedTokens: v.number(),
  generatedTokens: v.number(),
  lookedUpTokens: v.exactOptional(v.number()),
  finishReason: v.picklist(['stop', 'length', 'aborted']),
  timeToFirstTokenMs: v.number(),
  durationMs: v.number(),
  tokens: v.exactOptional(choices),
});

export const embedResult = v.strictObject({
  embeddings: v.array(v.array(v.number())),
  promptTokens: v.number(),
});

const failure = { kind: v.picklist(['invalid', 'not_found', 'internal']), message: v.string() };

/** The resident memory of the child's process. */
const memoryBytes = v.exactOptional(v.number());

/** Messages from a child. `failed` without an id means that the model could not be loaded. */
export const fromWorker = v.variant('type', [
  v.strictObject({ type: v.literal('loaded'), memoryBytes }),
  /** The request no longer waits for others. */
  v.strictObject({ type: v.literal('begun'), id: v.number(), memoryBytes }),
  /** `steps` grows with every part of the model that is loaded and every token that is evaluated. */
  v.strictObject({ type: v.literal('alive'), steps: v.number() }),
  v.strictObject({
    type: v.literal('text'),
    id: v.number(),
    delta: v.string(),
    tokens: v.optional(choices, []),
  }),
  v.strictObject({ type: v.literal('done'), id: v.number(), result: generateResult, memoryBytes }),
  v.strictObject({ type: v.literal('embedded'), id: v.number(), result: embedResult }),
  v.strictObject({
    type: v.literal('failed'),
    id: v.nullable(v.number()),
    ...failure,
    details: v.record(v.string(), v.unknown()),
  }),
]);
export type FromWorker = v.InferOutput<typeof fromWorker>;
