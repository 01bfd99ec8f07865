import type { Ask } from '../../api/generate.ts';
import type { ServiceError } from '../../api/request.ts';
import { formatCount } from '../../elements/format.ts';

/** What the page knows about a model that answers, or about a run whose checkpoints do. */
export interface ModelFacts {
  readonly name: string;
  /** The name of the dataset that it was trained on. */
  readonly dataset: string;
  /** Whether it is asked with the base model's own chat template. */
  readonly hasChatTemplate: boolean;
  /** The most tokens of a prompt and its answer; `null` if it is not known. */
  readonly contextTokens: number | null;
  /** That of the rows that it was trained on; `null` if they have none in common. */
  readonly systemPrompt: string | null;
  /** Those of the rows that it was trained on. */
  readonly tools: readonly object[];
  /** Why it takes no tools; `null` if it does. */
  readonly toolsFault: string | null;
  /** Whether the trainer's libraries answer, because there is no file for llama.cpp. */
  readonly isTrained: boolean;
  /** Whether its adapter is a file for llama.cpp. */
  readonly hasAdapter: boolean;
  /** The quantizations of its files. */
  readonly quantizations: readonly string[];
  /** The steps of the checkpoints that its run keeps. */
  readonly steps: readonly number[];
  /** The run, while it has no model: only its checkpoints answer. */
  readonly runId: string | null;
  /** Whether it is a base model, of which nothing was trained. */
  readonly isBase: boolean;
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

/** Whether there is anything that answers: a run may have no checkpoint yet. */
export const canAnswer = ({ runId, steps }: ModelFacts): boolean => runId === null || steps.length > 0;

/** Whether the strength of its adapter can be set. */
export const canScale = (facts: ModelFacts, answerer: Answerer): boolean =>
  /^(step:|$)/.test(chosenWeights(facts, answerer).value) && !facts.isTrained && facts.hasAdapter;

/** The weights that a model can answer with: its own first, or the latest of a run. */
export function weightsOf(facts: ModelFacts): readonly WeightsChoice[] {
  const { isTrained, hasAdapter, quantizations, steps, runId, isBase } = facts;
  const plain = (value: string, name: string) => ({ value, name });
  const checkpoints = steps.map((step) => plain(`step:${step}`, `Checkpoint at step ${formatCount(step)}`));
  const base = plain('base', 'Base model');
  if (isBase) return [plain('', 'Base model')];
  if (runId !== null) return steps.length === 0 ? [] : [...checkpoints.reverse(), base];
  return [
    plain('', 'Fine-tuned'),
    ...quantizations.map((type) => plain(`file:${type}`, `${type} file`)),
    ...checkpoints,
    ...(isTrained || hasAdapter ? [base] : []),
  ];
}

/** The weights that are chosen, or its own if the model has no such weights (any more). */
export const chosenWeights = (facts: ModelFacts, { weights }: Answerer): WeightsChoice => {
  const all = weightsOf(facts);
  return all.find(({ value }) => value === weights) ?? all[0] ?? { value: '', name: '' };
};

/** Of a model's weights, the first that are in none of `taken`; or else its own. */
export const unusedWeights = (facts: ModelFacts, taken: readonly Answerer[]): string =>
  weightsOf(facts).find(({ value }) => !taken.some((one) => chosenWeights(facts, one).value === value))
    ?.value ?? '';

/** A short name of what answers. */
export function answererName(facts: ModelFacts, answerer: Answerer): string {
  const name = `${facts.name} · ${chosenWeights(facts, answerer).name}`;
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
  if (kind === 'base' && facts.runId !== null)
    return { model: answerer.modelId, checkpoint: facts.steps.at(-1) ?? 0, scale: 0 };
  return {
    model: answerer.modelId,
    as_base: kind === 'base' || undefined,
    checkpoint: kind === 'step' ? Number(what) : undefined,
    file: kind === 'file' ? what : undefined,
    scale: canScale(facts, answerer) && answerer.scale !== 1 ? answerer.scale : undefined,
  };
}

/** What it does before its first token, where that can take a while. */
export function firstWords(facts: ModelFacts, answerer: Answerer): string {
  if (facts.isTrained) return 'loading the model: without a GGUF file, its first answer takes longer…';
  return facts.runId !== null || chosenWeights(facts, answerer).value.startsWith('step:')
    ? 'preparing the checkpoint…'
    : 'generating…';
}
