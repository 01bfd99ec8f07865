import { AppError } from '../../errors.ts';
import type { TokenChoice } from '../batching/logprobs.ts';
import type { Message } from '../template/render.ts';
import type { Child, OnText } from './child.ts';
import { createProcesses, type ModelFiles, type ProcessOptions } from './processes.ts';

export type { RatedToken, TokenChoice } from '../batching/logprobs.ts';
export type { OnText } from './child.ts';

export interface GenerateRequest {
  /** Identifies the file in memory between requests; there is one child process per key. */
  modelKey: string;
  ggufPath: string;
  templatePath: string;
  /**
   * Adapters to add to the file: a model's own to that of its base. The merged model with its own at scale −1 is the base
   * model, too.
   */
  adapters?: readonly { readonly path: string; readonly scale: number }[];
  input:
    | {
        kind: 'messages';
        messages: Message[];
        /** Turns reasoning on or off where the template can. */
        thinking?: boolean | undefined;
      }
    | { kind: 'text'; text: string };
  maxTokens: number;
  temperature: number;
  topP: number;
  seed?: number;
  stop?: string[];
  /** Who asks; the requests of one caller do not keep those of others waiting. */
  caller?: string;
  /** Log-probabilities of the answer's tokens, and of so many of the most likely ones in the place of each (0 to 20). */
  logprobs?: number;
  /** Token IDs with what is added to their logits, −100 to 100. */
  logitBias?: Readonly<Record<string, number>>;
  /** Subtracted from the logit of each token of the answer so far, −2 to 2. */
  presencePenalty?: number;
  /** The same, as often as the token occurs. */
  frequencyPenalty?: number;
  /** What the answer must be; `jsonSchemaFaults` tells whether a schema can be used. */
  grammar?: { kind: 'json' } | { kind: 'json-schema'; schema: Readonly<Record<string, unknown>> };
  /** Whether tokens may be guessed from what the prompt has, which changes the speed alone. Absent: yes. */
  lookup?: boolean;
}

export interface EmbedRequest extends Pick<GenerateRequest, 'modelKey' | 'ggufPath' | 'templatePath'> {
  inputs: (string | number[])[];
}

export interface EmbedResult {
  embeddings: number[][];
  promptTokens: number;
}

export interface GenerateResult {
  text: string;
  promptTokens: number;
  /** Tokens of the prompt that were kept from an earlier request. */
  cachedTokens: number;
  generatedTokens: number;
  /** Those of them that were guessed, and evaluated in the same step as the token before them. */
  lookedUpTokens?: number;
  finishReason: 'stop' | 'length' | 'aborted';
  timeToFirstTokenMs: number;
  durationMs: number;
  /** The tokens of the text, with `logprobs`. */
  tokens?: TokenChoice[];
}

/** A file in memory, or one that requests wait for. */
export interface ModelProcess {
  readonly modelKey: string;
  /** Requests that are being answered, and those that wait. */
  readonly running: number;
  readonly waiting: number;
  /** Resident memory; `null` before the process has told it. */
  readonly memoryBytes: number | null;
}

/** Loaded models, each in its own child process. */
export interface Engine {
  /**
   * Answers one request. Up to eight of the same model run together; others wait, up to a number.
   *
   * @throws AppError `invalid` (not a model file or a damaged one, prompt longer than the context, messages rejected by the template),
   * `not_found` (no such file), `conflict` (unloaded in the meantime), `unavailable` (the process crashed or hung, there is
   * not enough memory, or the engine is closed), `too_many` (too many requests wait for the model)
   */
  generate(
    request: GenerateRequest,
    options?: { onText?: OnText; signal?: AbortSignal },
  ): Promise<GenerateResult>;
  /**
   * The vectors of texts, or of token IDs: the model's hidden state after the last token, of length 1.
   *
   * @throws AppError as `generate` does; `invalid` with the `index` of an input that is empty or too long
   */
  embed(request: EmbedRequest, options?: { signal?: AbortSignal }): Promise<EmbedResult>;
  isLoaded(modelKey: string): boolean;
  processes(): ModelProcess[];
  /** The memory that is free for models, in bytes, if those that nobody uses are unloaded; `null` if it is not known. */
  freeMemory(): Promise<number | null>;
  /** Ends the model's process. Its pending requests fail with `conflict`. */
  unload(modelKey: string): Promise<void>;
  /** While a training runs, each model uses a single thread. */
  setTrainingActive(active: boolean): void;
  close(): Promise<void>;
}

export interface EngineOptions extends ProcessOptions {
  /** The most requests to one model at a time, running and waiting; more are refused. */
  maxPending: number;
}

/** Waiting requests are not told when there is room; after this time it is worth another attempt. */
const retryAfterSeconds = 5;

/** The error of a request that may not wait behind so many `others`. */
export const tooMany = (others: number): AppError =>
  new AppError(
    'too_many',
    `The model already has ${others} requests, and no more may wait. Try again in ${retryAfterSeconds} seconds.`,
    { details: { retryAfterSeconds } },
  );

const aborted: GenerateResult = Object.freeze({
  text: '',
  promptTokens: 0,
  cachedTokens: 0,
  generatedTokens: 0,
  finishReason: 'aborted',
  timeToFirstTokenMs: 0,
  durationMs: 0,
});

export function createEngine(options: EngineOptions): Engine {
  /** Requests to each model, also those that wait for its process. */
  const pending = new Map<string, number>();
  const slots = createProcesses(options);

  /** Does `work` with the model's process; `null` if the request was aborted before. */
  async function withChild<T>(
    files: ModelFiles,
    signal: AbortSignal | undefined,
    work: (child: Child) => Promise<T>,
  ): Promise<T | null> {
    const key = files.modelKey;
    const others = pending.get(key) ?? 0;
    if (others >= options.maxPending) throw tooMany(others);
    pending.set(key, others + 1);
    try {
      return await slots.use(files, signal, work);
    } finally {
      const left = (pending.get(key) ?? 1) - 1;
      if (left > 0) pending.set(key, left);
      else pending.delete(key);
    }
  }

  return {
    async generate(request, { onText, signal } = {}) {
      const result = await withChild(request, signal, (child) =>
        child.generate(
          {
            input: request.input,
            templatePath: request.templatePath,
            adapters: [...(request.adapters ?? [])],
            maxTokens: request.maxTokens,
            temperature: request.temperature,
            topP: request.topP,
            seed: request.seed ?? null,
            stop: request.stop ?? [],
            caller: request.caller ?? null,
            presencePenalty: request.presencePenalty ?? 0,
            frequencyPenalty: request.frequencyPenalty ?? 0,
            logitBias: Object.entries(request.logitBias ?? {}).map(([token, bias]) => [Number(token), bias]),
            logprobs: request.logprobs ?? null,
            grammar: request.grammar ?? null,
            lookup: request.lookup ?? true,
          },
          onText,
          signal,
        ),
      );
      return result ?? { ...aborted };
    },
    async embed(request, { signal } = {}) {
      const { inputs, templatePath } = request;
      const result = await withChild(request, signal, (child) =>
        child.embed({ inputs, templatePath }, signal),
      );
      return result ?? { embeddings: [], promptTokens: 0 };
    },
    isLoaded: (modelKey) => slots.childOf(modelKey)?.ended === false,
    processes: () =>
      [...new Set([...slots.keys(), ...pending.keys()])].map((modelKey) => {
        const child = slots.childOf(modelKey);
        const running = child?.running ?? 0;
        const waiting = Math.max(0, (pending.get(modelKey) ?? 0) - running);
        return { modelKey, running, waiting, memoryBytes: child?.memoryBytes ?? null };
      }),
    freeMemory: slots.freeMemory,
    unload: slots.unload,
    setTrainingActive: slots.setTrainingActive,
    close: slots.close,
  };
}
