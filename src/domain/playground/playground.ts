import { existsSync } from 'node:fs';
import { AppError } from '../../errors.ts';
import type { Engine, GenerateRequest, GenerateResult } from '../../inference/engine.ts';
import type { Model, Models } from '../models/models.ts';

export type { GenerateResult } from '../../inference/engine.ts';

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
}

export interface Playground {
  /** @throws AppError `not_found`, `invalid` (no GGUF, too long a prompt), `unavailable` (the engine crashed or hung). */
  generate(
    request: PlaygroundRequest,
    options?: { onText?: (delta: string) => void; signal?: AbortSignal },
  ): Promise<GenerateResult>;
  /** The file used for inference. @throws AppError as above. */
  modelFile(reference: string): { model: Model; path: string };
  /** Unloads a model before it is deleted. @throws AppError `conflict` while it answers. */
  release(model: Model): Promise<void>;
}

/** The longest prompt in bytes. */
export const maximumPromptBytes = 2 ** 20;

/** One prompt of a user, as the playgrounds of both sets send it. */
export const userPrompt = (prompt: string): GenerateRequest['input'] => ({
  kind: 'messages',
  messages: [{ role: 'user', content: prompt }],
});

export function createPlayground(options: { engine: Engine; models: Models }): Playground {
  const { engine, models } = options;
  const answering = new Map<string, number>();

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

  return {
    async generate(request, { onText, signal } = {}) {
      const model = models.find(request.model);
      const { gguf, template, adapter } = files(model);
      if (request.asBase && adapter === null) {
        throw new AppError(
          'invalid',
          `The base model of ${model.name} is not available: its adapter could not be converted for llama.cpp.`,
        );
      }
      answering.set(model.modelId, (answering.get(model.modelId) ?? 0) + 1);
      try {
        return await engine.generate(
          {
            modelKey: model.modelId,
            ggufPath: gguf,
            templatePath: template,
            ...(request.asBase && adapter !== null ? { adapterPath: adapter, asBase: true } : {}),
            input: request.input,
            maxTokens: request.maxTokens,
            temperature: request.temperature,
            topP: request.topP,
            ...(request.seed === undefined ? {} : { seed: request.seed }),
            ...(request.stop === undefined ? {} : { stop: [...request.stop] }),
          },
          { ...(onText ? { onText } : {}), ...(signal ? { signal } : {}) },
        );
      } finally {
        const left = (answering.get(model.modelId) ?? 1) - 1;
        if (left > 0) answering.set(model.modelId, left);
        else answering.delete(model.modelId);
      }
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
  };
}
