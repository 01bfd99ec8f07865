import * as v from 'valibot';
import { choices, generateOrder, generateResult } from './generation.ts';

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
    ...generateOrder.entries,
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
