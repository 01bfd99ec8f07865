import { existsSync } from 'node:fs';
import type { Settings } from '../../contract/settings.ts';
import { vocabularySettings } from '../../contract/training/vocabulary.ts';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import type { Parent } from '../../trainer/protocol.ts';
import { locateModel } from '../base-models/base-model.ts';
import { type FoundParent, isWhole, type ParentMerge, type Parents } from '../base-models/parent.ts';
import { defaultProvider, defaultStrategy } from '../machine/trainer-registry.ts';
import type { TrainingRequest } from './training-request.ts';

type Fields = Partial<TrainingRequest>;

/** A request of which `model_name` is a base model, and what it goes on from, if it named a model of Hone. */
export interface GoingOn<F extends Fields> {
  readonly fields: F;
  readonly parent: Parent | null;
  /** The folder of the adapter that is trained on; `null` where a new one begins. */
  readonly start: string | null;
  /** Makes the folder of the adapter to merge, which `model_name` stands for; `null` where nothing is to be made. */
  readonly make: ParentMerge['make'] | null;
}

/** What an adapter's shape is: another one cannot have its weights. */
const shape = ['adapter', 'lora_r', 'lora_alpha', 'target_modules', 'target_experts'] as const;
/** Strategies that take an adapter on as it is; the others compare with the model that they start from. */
const takesOn: readonly string[] = ['sft', 'qlora', 'distill'];

/**
 * Replaces a model of Hone in `model_name` by its base. Its adapter is trained on if the request has one of the same
 * shape, or names none; else it is merged into a new base first.
 * @throws AppError `invalid` or `not_found` for a model that is not there, or whose base is gone.
 */
export async function goOn<F extends Fields>(fields: F, parents: Parents): Promise<GoingOn<F>> {
  const found = fields.model_name === undefined ? null : await parents.find(fields.model_name);
  if (found === null) return { fields, parent: null, start: null, make: null };
  const named = { model_id: found.modelId, name: found.name, step: found.step };
  if (isWhole(found)) {
    const parent: Parent = { ...named, how: 'whole', why: 'all of its weights were trained' };
    const whole: F = { ...fields, model_name: found.folder, merge_adapter: undefined };
    return { fields: whole, parent, start: null, make: null };
  }
  refuseOwnVocabulary(found);
  refuseWithoutBase(found);
  const why = whyMerged(fields, found);
  if (why !== null) {
    const parent: Parent = { ...named, how: 'merged', why };
    const { like, make } = found.merge();
    return { fields: { ...fields, model_name: like, merge_adapter: true }, parent, start: null, make };
  }
  const going: F = {
    ...fields,
    ...shapeOf(found.settings),
    model_name: found.baseModel,
    merge_adapter: found.mergesAdapter ? true : undefined,
  };
  return { fields: going, parent: { ...named, how: 'adapter', why: null }, start: found.folder, make: null };
}

/** What a training does with the model that it goes on from, in a sentence. */
export function goingOnSentence({ name, step, how, why }: Parent): string {
  const what = step === null ? name : `step ${step} of ${name}`;
  if (how === 'adapter') return `The adapter of ${what} is trained on.`;
  return how === 'whole'
    ? `The weights of ${what} are the base: ${why}.`
    : `The adapter of ${what} is merged into a new base first: ${why}.`;
}

const shapeOf = (settings: Partial<Settings>): Partial<Settings> =>
  Object.fromEntries(shape.flatMap((name) => (settings[name] === undefined ? [] : [[name, settings[name]]])));

/** Why an adapter cannot be trained on as the request asks; `null` if it can. */
function whyMerged(fields: Fields, { settings, task }: FoundParent): string | null {
  if (fields.merge_adapter) return 'merge_adapter asks for it';
  const strategy = fields.strategy ?? defaultStrategy;
  if (!takesOn.includes(strategy)) return `${strategy} compares with the model that it starts from`;
  const provider = fields.provider ?? defaultProvider;
  if (provider !== defaultProvider) return `the provider ${provider} begins with an adapter of its own`;
  if (fields.task !== undefined && fields.task !== task) return `it was trained for ${task}`;
  for (const name of shape) {
    const asked = fields[name];
    const had = settings[name] ?? usual[name];
    if (asked != null && keyOf(asked) !== keyOf(had))
      return `${name} is ${textOf(asked)}, and that of its adapter ${textOf(had)}`;
  }
  return null;
}

/** What older runs do not tell. */
const usual: Partial<Settings> = { adapter: 'lora', target_experts: false, target_modules: null };
const keyOf = (value: unknown) => JSON.stringify(Array.isArray(value) ? [...value].sort() : (value ?? null));
const textOf = (value: unknown) =>
  Array.isArray(value) ? value.join(', ') : value == null ? 'all layers' : String(value);

/** @throws AppError `invalid` if a model has embeddings of its own, which its base has no place for. */
function refuseOwnVocabulary({ name, settings, gguf }: FoundParent): void {
  const own = vocabularySettings.find((setting) => settings[setting] != null);
  if (own === undefined) return;
  throw refusalOf(
    'model_name',
    `${name} was trained with ${own}, so another training cannot take its adapter. Name ${gguf === null ? '' : `its merged file, which can be a base by itself (${gguf}), or `}the folder of its merged weights (POST /api/models/{id}/export with "merged": true)`,
  );
}

/** @throws AppError `invalid` if what a model was trained from is gone. */
function refuseWithoutBase({ name, baseModel, gguf }: FoundParent): void {
  let place: string | null;
  try {
    const located = locateModel(baseModel);
    place = located.gguf ?? located.path;
  } catch (error) {
    if (error instanceof AppError) throw refusalOf('model_name', `The base of ${name}: ${error.message}`);
    throw error;
  }
  if (place === null || existsSync(place)) return;
  const instead = gguf === null ? '' : `, or name its merged file, which can be a base by itself (${gguf})`;
  throw refusalOf(
    'model_name',
    `The base of ${name} is gone: there is no ${place}. Put it back there${instead}`,
  );
}
