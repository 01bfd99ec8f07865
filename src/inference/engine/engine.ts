import { basename } from 'node:path';
import * as v from 'valibot';
import { AppError } from '../../errors.ts';
import {
  abortedResult,
  type GenerateResult,
  type Generation,
  generateOrder,
} from '../protocol/generation.ts';
import { nodeProgram, type OnText, startChild } from './child.ts';
import { needsOf } from './memory-needs.ts';
import { createProcesses, type ModelProcess, type ProcessOptions } from './processes.ts';

export type { GenerateResult, Generation, RatedToken, TokenChoice } from '../protocol/generation.ts';
export type { OnText } from './child.ts';
export type { ModelProcess } from './processes.ts';

/** How a request is heard and ended. */
export interface GenerateOptions {
  readonly onText?: OnText | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A file that holds a model, and its name between requests: there is one child process per key. */
export interface ModelFiles {
  readonly modelKey: string;
  readonly ggufPath: string;
  readonly templatePath: string;
}

export interface GenerateRequest extends Generation, ModelFiles {
  /**
   * Adapters to add to the file: a model's own to that of its base. The merged model with its own at scale −1 is the base
   * model, too.
   */
  readonly adapters?: readonly { readonly path: string; readonly scale: number }[];
}

export interface EmbedRequest extends ModelFiles {
  inputs: (string | number[])[];
}

export interface EmbedResult {
  embeddings: number[][];
  promptTokens: number;
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
  generate(request: GenerateRequest, options?: GenerateOptions): Promise<GenerateResult>;
  /**
   * The vectors of texts, or of token IDs: the model's hidden state after the last token, of length 1.
   *
   * @throws AppError as `generate` does; `invalid` with the `index` of an input that is empty or too long
   */
  embed(request: EmbedRequest, options?: { signal?: AbortSignal | undefined }): Promise<EmbedResult>;
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
  workerPath: string;
  /** A library that is loaded into each process before all others; none if absent. */
  preload?: string | null;
  gpu: 'auto' | false;
  /** The most models in memory; the least recently used one is unloaded first. */
  maxLoaded: number;
  /**
   * The machine's free memory in bytes, or `null` if models are not kept in it, as with a GPU. A model that takes more is
   * refused.
   */
  available?: () => Promise<number | null>;
}

const gigabytes = (bytes: number) => `${(Math.max(0, bytes) / 2 ** 30).toFixed(2)} GB`;

const tooLarge = ({ ggufPath }: ModelFiles, needs: number, free: number): AppError =>
  new AppError(
    'unavailable',
    `The model file ${basename(ggufPath)} takes ${gigabytes(needs)} of memory, and ${gigabytes(free)} are free. End other programs, or use a smaller type of the model.`,
    { details: { needsBytes: needs, freeBytes: Math.max(0, free) } },
  );

export function createEngine(options: EngineOptions): Engine {
  const { workerPath, preload = null, gpu, maxLoaded, available = async () => null } = options;
  const program = nodeProgram(workerPath, preload);
  const processes = createProcesses<ModelFiles>(options, {
    maxLoaded,
    isPendingPerModel: true,
    fileOf: ({ ggufPath }) => ggufPath,
    memory: { needsOf: ({ ggufPath }) => needsOf(ggufPath), available, tooLarge },
    start: async ({ ggufPath }, trainingActive, log, onEnd) =>
      startChild(program, { ggufPath, gpu, trainingActive: trainingActive() }, options, log, onEnd),
  });

  return {
    async generate(request, { onText, signal } = {}) {
      const order = v.parse(generateOrder, request);
      const result = await processes.use(request, signal, (child) => child.generate(order, onText, signal));
      return result ?? abortedResult();
    },
    async embed(request, { signal } = {}) {
      const { inputs, templatePath } = request;
      const result = await processes.use(request, signal, (child) =>
        child.embed({ inputs, templatePath }, signal),
      );
      return result ?? { embeddings: [], promptTokens: 0 };
    },
    isLoaded: processes.isLoaded,
    processes: processes.list,
    freeMemory: processes.freeMemory,
    unload: processes.unload,
    setTrainingActive: processes.setTrainingActive,
    close: processes.close,
  };
}
