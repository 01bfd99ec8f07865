import { basename } from 'node:path';
import { AppError } from '../errors.ts';
import { type Child, type OnText, startChild } from './child.ts';
import type { TokenChoice } from './choices.ts';
import { type Needs, needsOf } from './needs.ts';

export type { OnText } from './child.ts';
export type { RatedToken, TokenChoice } from './choices.ts';

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
  input: { kind: 'messages'; messages: { role: string; content: string }[] } | { kind: 'text'; text: string };
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

interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface EngineOptions {
  workerPath: string;
  gpu: 'auto' | false;
  /** Idle time after which a model is unloaded. */
  idleMs: number;
  /** A model's process that gives no sign of life for this long during a request is killed. */
  silenceMs: number;
  /** A model's process that answers, but loads and evaluates nothing for this long during a request, is killed. */
  stallMs: number;
  /** The most models in memory; the least recently used one is unloaded first. */
  maxLoaded: number;
  /**
   * The machine's free memory in bytes, or `null` if models are not kept in it, as with a GPU. A model that takes more is
   * refused.
   */
  available?: () => Promise<number | null>;
  /** The most requests to one model at a time, running and waiting; more are refused. */
  maxPending: number;
  logger: Log;
}

/** Waiting requests are not told when there is room; after this time it is worth another attempt. */
const retryAfterSeconds = 5;

type ModelFiles = Pick<GenerateRequest, 'modelKey' | 'ggufPath'>;

/** The error of a request that may not wait behind so many `others`. */
export const tooMany = (others: number): AppError =>
  new AppError(
    'too_many',
    `The model already has ${others} requests, and no more may wait. Try again in ${retryAfterSeconds} seconds.`,
    { details: { retryAfterSeconds } },
  );

const sumOf = ({ weights, context }: Needs) => weights + context;
const gigabytes = (bytes: number) => `${(Math.max(0, bytes) / 2 ** 30).toFixed(2)} GB`;

const tooLarge = (path: string, needs: number, free: number): AppError =>
  new AppError(
    'unavailable',
    `The model file ${basename(path)} takes ${gigabytes(needs)} of memory, and ${gigabytes(free)} are free. End other programs, or use a smaller type of the model.`,
    { details: { needsBytes: needs, freeBytes: Math.max(0, free) } },
  );

interface Slot {
  child: Child;
  ggufPath: string;
  needs: Needs;
  /** Requests that hold the slot, from before they are sent until they are answered. */
  users: number;
  usedAt: number;
  idle: NodeJS.Timeout | undefined;
}

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
  const { workerPath, gpu, idleMs, silenceMs, stallMs, maxLoaded, maxPending, logger } = options;
  const available = options.available ?? (async () => null);
  /** Requests to each model, also those that wait for its process. */
  const pending = new Map<string, number>();
  const slots = new Map<string, Slot>();
  /** Called when a slot may have become free. */
  let waiters: (() => void)[] = [];
  let trainingActive = false;
  let closed = false;
  let clock = 0;

  function wake(): void {
    const woken = waiters;
    waiters = [];
    for (const waiter of woken) waiter();
  }

  async function drop(key: string, slot: Slot, reason: AppError): Promise<void> {
    if (slots.get(key) === slot) slots.delete(key);
    clearTimeout(slot.idle);
    await slot.child.end(reason);
    wake();
  }

  function start(key: string, request: ModelFiles, needs: Needs): Slot {
    const child = startChild(
      workerPath,
      { ggufPath: request.ggufPath, gpu, trainingActive },
      { silenceMs, stallMs },
      (line) => logger.debug({ model: key, line }, 'playground child'),
      () => {
        const slot = slots.get(key);
        if (slot?.child === child) {
          slots.delete(key);
          clearTimeout(slot.idle);
          logger.warn({ model: key }, "the playground's process has ended");
        }
        wake();
      },
    );
    const slot: Slot = {
      child,
      ggufPath: request.ggufPath,
      needs,
      users: 0,
      usedAt: ++clock,
      idle: undefined,
    };
    slots.set(key, slot);
    logger.info({ model: key }, 'loading a model for the playground');
    return slot;
  }

  /** The slot of the request's model, with this request counted among its users. */
  async function acquire(request: ModelFiles, signal: AbortSignal | undefined): Promise<Slot | null> {
    const key = request.modelKey;
    for (;;) {
      if (closed) throw new AppError('unavailable', 'The service is shutting down.');
      if (signal?.aborted) return null;
      let slot = slots.get(key);
      if (slot?.child.ended) {
        slots.delete(key);
        slot = undefined;
      }
      const same = slot?.ggufPath === request.ggufPath;
      if (slot !== undefined && (same || slot.users > 0)) {
        if (!same) {
          await freed(signal);
          continue;
        }
        slot.users += 1;
        clearTimeout(slot.idle);
        return slot;
      }
      if (slot !== undefined) {
        await drop(key, slot, new AppError('conflict', 'The model was replaced.'));
        continue;
      }
      const needs = await needsOf(request.ggufPath);
      const left = await roomFor(needs);
      // In the meantime, another request may have started it.
      if (slots.has(key)) continue;
      if (left >= 0 && slots.size < maxLoaded) {
        const started = start(key, request, needs);
        started.users += 1;
        return started;
      }
      const oldest = [...slots]
        .filter(([, other]) => other.users === 0)
        .sort((a, b) => a[1].usedAt - b[1].usedAt)[0];
      if (oldest !== undefined) {
        const reason = new AppError('conflict', 'The model was unloaded to make room for another.');
        await drop(oldest[0], oldest[1], reason);
      } else if (slots.size > 0) await freed(signal);
      else throw tooLarge(request.ggufPath, sumOf(needs), sumOf(needs) + left);
    }
  }

  /** Bytes that stay free beside a model. */
  async function roomFor(needs: Needs): Promise<number> {
    const free = await freeBeside([...slots.values()]);
    return free === null ? Number.POSITIVE_INFINITY : free - sumOf(needs);
  }

  /** Free memory beside the models of these slots. The system counts their weights, which it could read again, as free. */
  async function freeBeside(loaded: readonly Slot[]): Promise<number | null> {
    const free = await available();
    return free === null ? null : free - loaded.reduce((sum, { needs }) => sum + needs.weights, 0);
  }

  /** Resolves at the next change of the slots, or when the request is aborted. */
  function freed(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        signal?.removeEventListener('abort', go);
        resolve();
      };
      signal?.addEventListener('abort', go, { once: true });
      waiters.push(go);
    });
  }

  function release(key: string, slot: Slot): void {
    slot.users -= 1;
    slot.usedAt = ++clock;
    if (slot.users === 0 && slots.get(key) === slot) {
      slot.idle = setTimeout(() => {
        logger.info({ model: key }, 'unloading an idle model');
        void drop(key, slot, new AppError('conflict', 'The model was unloaded.'));
      }, idleMs);
      slot.idle.unref();
    }
    wake();
  }

  /** Does `work` with the model's slot; `null` if the request was aborted before. */
  async function withSlot<T>(
    request: ModelFiles,
    signal: AbortSignal | undefined,
    work: (slot: Slot) => Promise<T>,
  ): Promise<T | null> {
    const key = request.modelKey;
    const others = pending.get(key) ?? 0;
    if (others >= maxPending) throw tooMany(others);
    pending.set(key, others + 1);
    try {
      const slot = await acquire(request, signal);
      if (slot === null) return null;
      try {
        return await work(slot);
      } finally {
        release(key, slot);
      }
    } finally {
      const left = (pending.get(key) ?? 1) - 1;
      if (left > 0) pending.set(key, left);
      else pending.delete(key);
    }
  }

  return {
    async generate(request, { onText, signal } = {}) {
      const result = await withSlot(request, signal, (slot) =>
        slot.child.generate(
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
      const result = await withSlot(request, signal, ({ child }) =>
        child.embed({ inputs, templatePath }, signal),
      );
      return result ?? { embeddings: [], promptTokens: 0 };
    },
    isLoaded(modelKey) {
      const slot = slots.get(modelKey);
      return slot !== undefined && !slot.child.ended;
    },
    processes: () =>
      [...new Set([...slots.keys(), ...pending.keys()])].map((modelKey) => {
        const child = slots.get(modelKey)?.child;
        const running = child?.running ?? 0;
        const waiting = Math.max(0, (pending.get(modelKey) ?? 0) - running);
        return { modelKey, running, waiting, memoryBytes: child?.memoryBytes ?? null };
      }),
    freeMemory: () => freeBeside([...slots.values()].filter(({ users }) => users > 0)),
    async unload(modelKey) {
      const slot = slots.get(modelKey);
      if (slot !== undefined) await drop(modelKey, slot, new AppError('conflict', 'The model was unloaded.'));
    },
    setTrainingActive(active) {
      trainingActive = active;
      for (const { child } of slots.values()) child.setTraining(active);
    },
    async close() {
      closed = true;
      wake();
      const reason = new AppError('unavailable', 'The service is shutting down.');
      await Promise.all([...slots].map(([key, slot]) => drop(key, slot, reason)));
    },
  };
}
