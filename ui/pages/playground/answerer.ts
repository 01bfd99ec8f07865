import type { Ask } from '../../api/generate.ts';
import type { ServiceError } from '../../api/request.ts';
import type { Lineage } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';

/** What the page knows about a model that answers. */
export interface ModelFacts {
  readonly lineage: Lineage;
  /** The steps of the checkpoints that its run keeps. */
  readonly steps: readonly number[];
}

/** A model with some of its weights. */
export interface Answerer {
  readonly modelId: string;
  /** A checkpoint as `step:8`, a file as `file:Q4_0`, `base`, or empty for the model's own. */
  readonly weights: string;
  /** The strength of what the training changed: 1 as trained, 0 the base model. */
  readonly scale: number;
}

/** One side of a conversation: what answers, and what is known about it. */
export interface AnswererSide {
  readonly answerer: Answerer;
  /** `null` until they are read. */
  readonly facts: ModelFacts | null;
  /** Why they could not be read. */
  readonly error: ServiceError | null;
}

export interface WeightsChoice {
  readonly value: string;
  readonly name: string;
}

const filesOf = ({ lineage }: ModelFacts, kind: string) => lineage.files.filter((file) => file.kind === kind);

/** Whether it is answered by the trainer's libraries, because there is no file for llama.cpp. */
export const isTrained = (facts: ModelFacts): boolean => filesOf(facts, 'gguf').length === 0;

/** Whether the strength of its adapter can be set. */
export const canScale = (facts: ModelFacts, answerer: Answerer): boolean =>
  /^(step:|$)/.test(chosenWeights(facts, answerer).value) &&
  !isTrained(facts) &&
  filesOf(facts, 'adapter_gguf').length > 0;

/** The weights that a model can answer with, its own first. */
export function weightsOf(facts: ModelFacts): readonly WeightsChoice[] {
  const plain = (value: string, name: string) => ({ value, name });
  const hasBase = isTrained(facts) || filesOf(facts, 'adapter_gguf').length > 0;
  return [
    plain('', 'Fine-tuned'),
    ...filesOf(facts, 'gguf').flatMap(({ quantization: type }) =>
      type === null ? [] : [plain(`file:${type}`, `${type} file`)],
    ),
    ...facts.steps.map((step) => plain(`step:${step}`, `Checkpoint at step ${formatCount(step)}`)),
    ...(hasBase ? [plain('base', 'Base model')] : []),
  ];
}

/** The weights that are chosen, or its own if the model has no such weights (any more). */
export const chosenWeights = (facts: ModelFacts, { weights }: Answerer): WeightsChoice => {
  const all = weightsOf(facts);
  return all.find(({ value }) => value === weights) ?? all[0] ?? { value: '', name: '' };
};

/** A short name of what answers. */
export function answererName(facts: ModelFacts, answerer: Answerer): string {
  const name = `${facts.lineage.name} · ${chosenWeights(facts, answerer).name}`;
  const isScaled = canScale(facts, answerer) && answerer.scale !== 1;
  return isScaled ? `${name} · strength ${answerer.scale.toFixed(2)}` : name;
}

/** The fields of a request that say what answers. */
export function answererFields(
  facts: ModelFacts,
  answerer: Answerer,
): Pick<Ask, 'model' | 'as_base' | 'checkpoint' | 'file' | 'scale'> {
  const { value } = chosenWeights(facts, answerer);
  const [kind, what] = value.split(':');
  return {
    model: answerer.modelId,
    ...(kind === 'base' ? { as_base: true } : {}),
    ...(kind === 'step' ? { checkpoint: Number(what) } : {}),
    ...(kind === 'file' && what !== undefined ? { file: what } : {}),
    ...(canScale(facts, answerer) && answerer.scale !== 1 ? { scale: answerer.scale } : {}),
  };
}

/** What it does before its first token, where that can take a while. */
export function firstWords(facts: ModelFacts, answerer: Answerer): string {
  if (isTrained(facts)) return 'loading the model: without a GGUF file, its first answer takes longer…';
  return chosenWeights(facts, answerer).value.startsWith('step:')
    ? 'preparing the checkpoint…'
    : 'generating…';
}
