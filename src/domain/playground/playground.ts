import { join } from 'node:path';
import type { Store } from '../../db/store.ts';
import type { JobRow } from '../../db/tables/jobs.ts';
import { AppError } from '../../errors.ts';
import type { EmbedResult, Generation, ModelProcess, OnText } from '../../inference/engine/engine.ts';
import type { Engines } from '../../inference/engine/engines.ts';
import type { ToolUse } from '../../inference/protocol/generation.ts';
import { schemaErrors } from '../../inference/schema/schema-errors.ts';
import { withoutTools } from '../../inference/template/render.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { isBaseName } from '../base-models/local-models.ts';
import type { Checkpoints } from '../checkpoints/checkpoints.ts';
import type { SharedBases } from '../checkpoints/shared-bases.ts';
import { present, weightsOf, weightsOfFile } from '../checkpoints/weights.ts';
import { jobName } from '../job-record/job.ts';
import type { Model, Models } from '../models/models.ts';
import { trainedModelOf } from '../models/trained-model.ts';
import { type AnswerFigures, createAnswerFigures } from './answer-figures.ts';
import {
  answerFormOf,
  type OnAnswer,
  type PlaygroundAnswer,
  thinkingFor,
  withParts,
} from './answer-parts.ts';
import type { Bases } from './bases.ts';
import { jsonOf } from './calls/json-value.ts';
import { type ModelMemory, memoryOf } from './memory.ts';
import {
  lacksBase,
  mixed,
  refuseContradictions,
  refuseForBase,
  type Source,
  type Strength,
} from './mixture.ts';

export type { EmbedResult, GenerateResult, RatedToken, TokenChoice } from '../../inference/engine/engine.ts';
export type { ToolUse } from '../../inference/protocol/generation.ts';
export { jsonSchemaFaults, type SchemaFault } from '../../inference/schema/read-schema.ts';
export type { OnAnswer, PlaygroundAnswer } from './answer-parts.ts';
export type { CallDelta } from './calls/tool-split.ts';

/** A generation request. Messages are rendered with the training template; text is used as it is. */
export interface PlaygroundRequest extends Generation, Strength {
  /** Digits for a flat id, the name of a base model (`base:…`), a UUID otherwise. */
  readonly model: string;
  /** Use the weights of this step. `model` may then also be the name of a job, or of the model that it will make. */
  readonly checkpoint?: number | undefined;
  /** Use the model's own GGUF of this quantization, such as `Q4_0`, with nothing added to it. */
  readonly file?: string | undefined;
}

export interface Playground {
  /**
   * @throws AppError `not_found`, `invalid` (no files, too long a prompt, another base), `unavailable` (the engine crashed or hung),
   * `too_many` (too many requests wait for the model), and for a checkpoint those of `Checkpoints.prepare`.
   */
  generate(
    request: PlaygroundRequest,
    options?: { onText?: OnAnswer | undefined; signal?: AbortSignal | undefined },
  ): Promise<PlaygroundAnswer>;
  /** The vectors of texts or token IDs, as `Engine.embed`. @throws AppError as above. */
  embed(
    request: { readonly model: string; readonly inputs: (string | number[])[] },
    options?: { signal?: AbortSignal },
  ): Promise<EmbedResult>;
  /** What was answered since the start of the service. */
  readonly figures: AnswerFigures;
  /** The files in memory and the requests to each, with the names of the models that they answered for. */
  processes(): (ModelProcess & { readonly models: readonly string[] })[];
  /** The GGUF used for inference, or the adapter of a model without one. @throws AppError as above. */
  modelFile(reference: string): Promise<{ model: Model; path: string }>;
  /** The free memory in bytes (`null` if not known), and what the models take that llama.cpp runs. */
  memory(): Promise<{ readonly freeBytes: number | null; readonly models: readonly ModelMemory[] }>;
  /** Unloads a model before it is deleted. @throws AppError `conflict` while it answers. */
  release(model: Model): Promise<void>;
  /** Deletes and unloads the bases that nothing uses any more. */
  sweep(): Promise<void>;
  /** Unloads the checkpoints of a job before it is deleted. @throws AppError `conflict` while one of them answers. */
  releaseCheckpoints(job: JobRow): Promise<void>;
}

/** The longest prompt in bytes. */
export const maximumPromptBytes = 2 ** 20;

/** A process is named after the latest models that it answered for, at most so many. */
const mostNames = 5;

/** Where an answer or its calls break the schemas that they were held to; `undefined` where they do not. */
async function brokenBy(
  { text, calls, finishReason }: PlaygroundAnswer,
  schema: PlaygroundRequest['schema'],
  use: ToolUse | null,
): Promise<string[] | undefined> {
  if (finishReason !== 'stop') return undefined;
  const value = schema != null && calls.length === 0 ? jsonOf(text) : undefined;
  const all = schema == null || value === undefined ? [] : await schemaErrors(schema, value);
  for (const { name, arguments: given } of calls) {
    const tool = use?.tools.find((one) => one.function.name === name)?.function;
    const isHeld = use?.choice !== 'auto' || schema != null || use.strict.includes(name);
    const sent = jsonOf(given);
    if (!isHeld || tool?.parameters === undefined || sent === undefined) continue;
    const found = await schemaErrors(tool.parameters, sent);
    all.push(...found.map((error) => `${name}: ${error}`));
  }
  return all.length === 0 ? undefined : all;
}

/** One prompt of a user, as the playgrounds of both sets send it. */
export const userPrompt = (prompt: string): Generation['input'] => ({
  kind: 'messages',
  messages: [{ role: 'user', content: prompt }],
});

const withoutGguf = (name: string): AppError =>
  new AppError('invalid', `The model ${name} has no GGUF file, which embeddings need.`);

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the engines and who waits for them
export function createPlayground(options: {
  engine: Engines;
  store: Store;
  models: Models;
  checkpoints: Checkpoints;
  bases: SharedBases;
  untrained: Bases;
}): Playground {
  const { engine, store, models, checkpoints, bases, untrained } = options;
  /** Counts of requests that are being answered, by model. */
  const answering = new Map<string, number>();
  /** Those among them that use a checkpoint. */
  const answeringCheckpoint = new Map<string, number>();
  const figures = createAnswerFigures();
  /** The latest models that used a file, by the engine's key. */
  const users = new Map<string, readonly string[]>();

  async function counted<T>(
    { modelId, isCheckpoint }: Pick<Source, 'modelId' | 'isCheckpoint'>,
    work: () => Promise<T>,
  ): Promise<T> {
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

  /** A model's own weights, or those of one of its files. */
  async function weigh(model: Model, file?: string): Promise<Source> {
    const template = models.fileOf(model, 'template');
    const trained = models.fileOf(model, 'adapter');
    const isGguf = models.fileOf(model, 'gguf') !== null;
    if (template === null || (!isGguf && trained === null)) {
      throw new AppError('invalid', `The model ${model.name} has neither a GGUF file nor an adapter.`);
    }
    const about = {
      name: model.name,
      baseModel: model.baseModel,
      modelId: model.modelId,
      isCheckpoint: false,
      isWhole: model.config.adapter === 'full',
    };
    if (file !== undefined) return { ...about, weights: await weightsOfFile(model, template, file) };
    if (isGguf) return { ...about, weights: await weightsOf(model, template, models, bases) };
    const adapters = [{ path: await present(model, trained as string), scale: 1 }];
    const job = model.jobId === null ? null : store.jobs.get(model.jobId);
    const trainedModel = await trainedModelOf(job ?? model, model.path);
    return { ...about, weights: { trained: trainedModel, template, adapters } };
  }

  /**
   * What a reference stands for, under which name its answers are counted, and how its weights are made; those of a
   * checkpoint may take a while.
   */
  function find(reference: string, checkpoint: number | undefined, findModel = models.find) {
    if (checkpoint === undefined) {
      const model = findModel(reference);
      const prepare = async () => {
        checkpoints.share(model);
        return weigh(model);
      };
      const { modelId, name: counter } = model;
      return { modelId, counter, isCheckpoint: false, model, prepare };
    }
    const job = checkpoints.jobOf(reference);
    const about = { modelId: job.modelId, isCheckpoint: true };
    const name = `step ${checkpoint} of ${jobName(job.id)}`;
    const prepare = async (): Promise<Source> => ({
      ...about,
      name,
      baseModel: job.modelName,
      isWhole: (job.spec as JobSpec).settings.adapter === 'full',
      weights: await checkpoints.prepare(job, checkpoint),
    });
    return { ...about, counter: jobName(job.id), model: store.models.byModelId(job.modelId), prepare };
  }

  /** As `find`, or a base model, before it is counted: anything may be asked for by such a name. */
  async function findAsked(request: PlaygroundRequest): Promise<ReturnType<typeof find>> {
    const { model: name, checkpoint } = request;
    if (!isBaseName(name)) return find(name, checkpoint);
    refuseForBase(request);
    const { prepare } = await untrained.find(name);
    return { modelId: name, counter: name, isCheckpoint: false, model: null, prepare };
  }

  /** The weights for a blend, which needs to know their base. */
  async function prepareToBlend({ model, prepare }: ReturnType<typeof find>): Promise<Source> {
    const source = await prepare();
    if (model === null || !lacksBase(source)) return source;
    const unknownBase = await checkpoints.recordBase(model);
    return unknownBase === null ? prepare() : { ...source, unknownBase };
  }

  function noteUser(key: string, name: string): void {
    const present = new Set(engine.processes().map(({ modelKey }) => modelKey));
    for (const known of users.keys()) if (!present.has(known)) users.delete(known);
    const others = [...(users.get(key) ?? [])].filter((other) => other !== name);
    users.set(key, [...others.slice(1 - mostNames), name]);
  }

  return {
    figures,
    processes: () =>
      engine.processes().map((one) => ({ ...one, models: [...(users.get(one.modelKey) ?? [])] })),
    async generate(request, { onText, signal } = {}) {
      const { file } = request;
      refuseContradictions(request);
      const first = await findAsked(request);
      const other = request.blend && find(request.blend.model, request.blend.checkpoint, models.findByName);
      const answer = async () => {
        const blended = other && (await prepareToBlend(other));
        const source = await (file !== undefined
          ? weigh(models.find(request.model), file)
          : other === undefined
            ? first.prepare()
            : prepareToBlend(first));
        const strength = isBaseName(request.model) ? {} : request;
        const { template, adapters, ...weights } = mixed(source, strength, blended);
        noteUser(weights.modelKey, first.counter);
        const { input, schema } = request;
        const isChat = input.kind === 'messages';
        const form = isChat ? await answerFormOf(template) : { thinking: null, toolStyle: null };
        const use = (isChat && input.tools) || null;
        if (use !== null && form.toolStyle === null) throw withoutTools();
        const thinking = isChat ? thinkingFor(input, schema != null, form) : undefined;
        const generate = (heard: OnText | undefined) =>
          engine.generate(
            {
              ...request,
              ...weights,
              templatePath: template,
              adapters,
              input: isChat ? { ...input, thinking } : input,
            },
            { onText: heard, signal },
          );
        const begun = isChat && input.continues ? (input.messages.at(-1) ?? null) : null;
        const said = await withParts(form, thinking, begun, use, onText, generate);
        return { ...said, schemaErrors: await brokenBy(said, schema, use) };
      };
      return figures.counted(first.counter, () =>
        counted(first, () => (other === undefined ? answer() : counted(other, answer))),
      );
    },
    async embed({ model: reference, inputs }, { signal } = {}) {
      if (isBaseName(reference)) {
        const base = await untrained.find(reference);
        const { weights } = await base.prepare();
        if ('trained' in weights) throw withoutGguf(reference);
        const { gguf, template: templatePath } = weights;
        return engine.embed({ modelKey: gguf, ggufPath: gguf, templatePath, inputs }, { signal });
      }
      const model = models.find(reference);
      const gguf = models.fileOf(model, 'gguf');
      const template = models.fileOf(model, 'template');
      if (gguf === null || template === null) throw withoutGguf(model.name);
      return counted({ modelId: model.modelId, isCheckpoint: false }, async () => {
        const path = await present(model, gguf);
        const files = { modelKey: path, ggufPath: path, templatePath: template };
        return engine.embed({ ...files, inputs }, { signal });
      });
    },
    async modelFile(reference) {
      const model = models.find(reference);
      const path = models.fileOf(model, 'gguf');
      if (path !== null) return { model, path: await present(model, path) };
      const { weights } = await weigh(model);
      return { model, path: 'trained' in weights ? (weights.adapters[0]?.path as string) : weights.gguf };
    },
    async memory() {
      const freeBytes = await engine.freeMemory();
      return { freeBytes, models: await memoryOf(models, weigh, engine.isLoaded) };
    },
    async release(model) {
      if (answering.has(model.modelId)) {
        throw new AppError(
          'conflict',
          `The model ${model.name} is generating text in the playground. Wait until it has finished.`,
        );
      }
      await engine.unload(model.modelId);
      for (const { kind, path } of model.artifacts) {
        if (kind === 'gguf') await engine.unload(join(model.path, path));
      }
    },
    async sweep() {
      for (const path of await bases.sweep()) await engine.unload(path);
    },
    async releaseCheckpoints(job) {
      if (answeringCheckpoint.has(job.modelId)) {
        throw new AppError(
          'conflict',
          `A checkpoint of ${jobName(job.id)} is generating text. Wait until it has finished.`,
        );
      }
      if (!answering.has(job.modelId)) await engine.unload(job.modelId);
      await checkpoints.release(job);
    },
  };
}
