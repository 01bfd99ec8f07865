import { existsSync } from 'node:fs';
import type { JobRow } from '../../db/jobs.ts';
import { AppError } from '../../errors.ts';
import type { EmbedResult, Engine, GenerateRequest, GenerateResult, OnText } from '../../inference/engine.ts';
import type { CheckpointFiles, Checkpoints } from '../checkpoints/checkpoints.ts';
import { jobName } from '../job-record/job.ts';
import type { Model, Models } from '../models/models.ts';

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
   * @throws AppError `not_found`, `invalid` (no GGUF, too long a prompt), `unavailable` (the engine crashed or hung),
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
  /** The file used for inference. @throws AppError as above. */
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
  engine: Engine;
  models: Models;
  checkpoints: Checkpoints;
}): Playground {
  const { engine, models, checkpoints } = options;
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

  function files(model: Model): { gguf: string; template: string; adapter: string | null } {
    const gguf = models.fileOf(model, 'gguf');
    const template = models.fileOf(model, 'template');
    if (gguf === null || template === null) {
      throw new AppError(
        'invalid',
        `The model ${model.name} was trained without an export, so it has no GGUF file for inference.`,
      );
    }
    if (!existsSync(gguf)) {
      throw new AppError(
        'invalid',
        `The file of the model ${model.name} is missing: ${gguf}. Restore it or delete the model.`,
      );
    }
    return { gguf, template, adapter: models.fileOf(model, 'adapter_gguf') };
  }

  /** The files of the model itself or of its base. */
  function modelFiles({
    model: reference,
    asBase,
  }: PlaygroundRequest): { modelId: string } & CheckpointFiles {
    const model = models.find(reference);
    const { gguf, template, adapter } = files(model);
    if (asBase && adapter === null) {
      throw new AppError(
        'invalid',
        `The base model of ${model.name} is not available: its adapter could not be converted for llama.cpp.`,
      );
    }
    const adapters = asBase && adapter !== null ? [{ path: adapter, scale: -1 }] : [];
    return { modelId: model.modelId, gguf, template, adapters };
  }

  return {
    async generate(request, { onText, signal } = {}) {
      const { checkpoint } = request;
      if (checkpoint !== undefined && request.asBase) {
        throw new AppError('invalid', 'checkpoint and as_base exclude each other. Leave one of them out.');
      }
      const answer = ({ gguf, template, adapters }: CheckpointFiles, modelId: string) =>
        engine.generate(
          {
            modelKey: modelId,
            ggufPath: gguf,
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
        const { modelId, ...of } = modelFiles(request);
        return counted(modelId, false, () => answer(of, modelId));
      }
      const job = checkpoints.jobOf(request.model);
      return counted(job.modelId, true, async () =>
        answer(await checkpoints.prepare(job, checkpoint), job.modelId),
      );
    },
    async embed({ model: reference, inputs }, { signal } = {}) {
      const model = models.find(reference);
      const { gguf, template } = files(model);
      const key = { modelKey: model.modelId, ggufPath: gguf, templatePath: template };
      return counted(model.modelId, false, () => engine.embed({ ...key, inputs }, signal ? { signal } : {}));
    },
    modelFile(reference) {
      const model = models.find(reference);
      return { model, path: files(model).gguf };
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
