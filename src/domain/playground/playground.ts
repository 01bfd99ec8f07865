import { existsSync } from 'node:fs';
import type { JobRow } from '../../db/jobs.ts';
import type { Store } from '../../db/store.ts';
import { AppError } from '../../errors.ts';
import type { EmbedResult, GenerateRequest, GenerateResult, OnText } from '../../inference/engine.ts';
import type { Engines } from '../../inference/engines.ts';
import type { CheckpointFiles, Checkpoints } from '../checkpoints/checkpoints.ts';
import { jobName } from '../job-record/job.ts';
import type { Model, Models } from '../models/models.ts';
import { trainedModelOf } from '../models/trained-model.ts';

export type { EmbedResult, GenerateResult, RatedToken, TokenChoice } from '../../inference/engine.ts';
export { jsonSchemaFaults } from '../../inference/json-schema.ts';

/** A generation request. */
export interface PlaygroundRequest {
  /** Digits for a flat id, a UUID otherwise. */
  readonly model: string;
  /** Messages are rendered with the training template; text is used as it is. */
  readonly input: GenerateRequest['input'];
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
  /** Use the base model: the merged file minus its adapter. */
  readonly asBase?: boolean;
  /** Use the weights of this step. `model` may then also be the name of a job, or of the model that it will make. */
  readonly checkpoint?: number;
  /** Who asks, such as an address; the requests of one caller do not keep those of others waiting. */
  readonly caller?: string;
  /** As `GenerateRequest` has them. */
  readonly logprobs?: number;
  readonly logitBias?: Readonly<Record<string, number>>;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly grammar?: NonNullable<GenerateRequest['grammar']>;
}

export interface Playground {
  /**
   * @throws AppError `not_found`, `invalid` (no files, too long a prompt), `unavailable` (the engine crashed or hung),
   * `too_many` (too many requests wait for the model), and for a checkpoint those of `Checkpoints.prepare`.
   */
  generate(
    request: PlaygroundRequest,
    options?: { onText?: OnText; signal?: AbortSignal },
  ): Promise<GenerateResult>;
  /** The vectors of texts or token IDs, as `Engine.embed`. @throws AppError as above. */
  embed(
    request: { readonly model: string; readonly inputs: (string | number[])[] },
    options?: { signal?: AbortSignal },
  ): Promise<EmbedResult>;
  /** The GGUF used for inference, or the adapter of a model without one. @throws AppError as above. */
  modelFile(reference: string): { model: Model; path: string };
  /** Unloads a model before it is deleted. @throws AppError `conflict` while it answers. */
  release(model: Model): Promise<void>;
  /** Unloads the checkpoints of a job before it is deleted. @throws AppError `conflict` while one of them answers. */
  releaseCheckpoints(job: JobRow): Promise<void>;
}

/** The longest prompt in bytes. */
export const maximumPromptBytes = 2 ** 20;

/** One prompt of a user, as the playgrounds of both sets send it. */
export const userPrompt = (prompt: string): GenerateRequest['input'] => ({
  kind: 'messages',
  messages: [{ role: 'user', content: prompt }],
});

export function createPlayground(options: {
  engine: Engines;
  store: Store;
  models: Models;
  checkpoints: Checkpoints;
}): Playground {
  const { engine, store, models, checkpoints } = options;
  /** Counts of requests that are being answered, by model. */
  const answering = new Map<string, number>();
  /** Those among them that use a checkpoint. */
  const answeringCheckpoint = new Map<string, number>();

  async function counted<T>(modelId: string, isCheckpoint: boolean, work: () => Promise<T>): Promise<T> {
    const counts = [answering, ...(isCheckpoint ? [answeringCheckpoint] : [])];
    for (const count of counts) count.set(modelId, (count.get(modelId) ?? 0) + 1);
    try {
      return await work();
    } finally {
      for (const count of counts) {
        const left = (count.get(modelId) ?? 1) - 1;
        if (left > 0) count.set(modelId, left);
        else count.delete(modelId);
      }
    }
  }

  /** A file that must exist. */
  function present(model: Model, path: string): string {
    if (existsSync(path)) return path;
    throw new AppError(
      'invalid',
      `A file of the model ${model.name} is missing: ${path}. Restore it or delete the model.`,
    );
  }

  /** The files of the model itself or of its base. */
  function filesOf(model: Model, asBase: boolean): CheckpointFiles {
    const template = models.fileOf(model, 'template');
    const gguf = models.fileOf(model, 'gguf');
    const trained = models.fileOf(model, 'adapter');
    if (template === null || (gguf === null && trained === null)) {
      throw new AppError('invalid', `The model ${model.name} has neither a GGUF file nor an adapter.`);
    }
    if (gguf === null) {
      const adapters = asBase ? [] : [{ path: present(model, trained as string), scale: 1 }];
      const job = model.jobId === null ? null : store.jobs.get(model.jobId);
      return { trained: trainedModelOf(job ?? model, model.path), template, adapters };
    }
    const adapter = models.fileOf(model, 'adapter_gguf');
    if (asBase && adapter === null) {
      throw new AppError(
        'invalid',
        `The base model of ${model.name} is not available: its adapter could not be converted for llama.cpp.`,
      );
    }
    const adapters = asBase && adapter !== null ? [{ path: adapter, scale: -1 }] : [];
    return { gguf: present(model, gguf), template, adapters };
  }

  return {
    async generate(request, { onText, signal } = {}) {
      const { checkpoint } = request;
      if (checkpoint !== undefined && request.asBase) {
        throw new AppError('invalid', 'checkpoint and as_base exclude each other. Leave one of them out.');
      }
      const answer = ({ template, adapters, ...weights }: CheckpointFiles, modelId: string) =>
        engine.generate(
          {
            ...('gguf' in weights ? { ggufPath: weights.gguf } : weights),
            modelKey: modelId,
            templatePath: template,
            adapters,
            input: request.input,
            maxTokens: request.maxTokens,
            temperature: request.temperature,
            topP: request.topP,
            ...(request.seed === undefined ? {} : { seed: request.seed }),
            ...(request.stop === undefined ? {} : { stop: [...request.stop] }),
            ...(request.caller === undefined ? {} : { caller: request.caller }),
            ...(request.logprobs === undefined ? {} : { logprobs: request.logprobs }),
            ...(request.logitBias === undefined ? {} : { logitBias: request.logitBias }),
            ...(request.presencePenalty === undefined ? {} : { presencePenalty: request.presencePenalty }),
            ...(request.frequencyPenalty === undefined ? {} : { frequencyPenalty: request.frequencyPenalty }),
            ...(request.grammar === undefined ? {} : { grammar: request.grammar }),
          },
          { ...(onText ? { onText } : {}), ...(signal ? { signal } : {}) },
        );
      if (checkpoint === undefined) {
        const model = models.find(request.model);
        const files = filesOf(model, request.asBase === true);
        return counted(model.modelId, false, () => answer(files, model.modelId));
      }
      const job = checkpoints.jobOf(request.model);
      return counted(job.modelId, true, async () =>
        answer(await checkpoints.prepare(job, checkpoint), job.modelId),
      );
    },
    async embed({ model: reference, inputs }, { signal } = {}) {
      const model = models.find(reference);
      const files = filesOf(model, false);
      if (!('gguf' in files)) {
        throw new AppError('invalid', `The model ${model.name} has no GGUF file, which embeddings need.`);
      }
      const key = { modelKey: model.modelId, ggufPath: files.gguf, templatePath: files.template };
      return counted(model.modelId, false, () => engine.embed({ ...key, inputs }, signal ? { signal } : {}));
    },
    modelFile(reference) {
      const model = models.find(reference);
      const files = filesOf(model, false);
      return { model, path: 'gguf' in files ? files.gguf : (files.adapters[0]?.path as string) };
    },
    async release(model) {
      if (answering.has(model.modelId)) {
        throw new AppError(
          'conflict',
          `The model ${model.name} is generating text in the playground. Wait until it has finished.`,
        );
      }
      await engine.unload(model.modelId);
    },
    async releaseCheckpoints(job) {
      if (answeringCheckpoint.has(job.modelId)) {
        throw new AppError(
          'conflict',
          `A checkpoint of ${jobName(job.id)} is generating text. Wait until it has finished.`,
        );
      }
      if (!answering.has(job.modelId)) await engine.unload(job.modelId);
    },
  };
}
