import * as v from 'valibot';
import { graderOf } from '../../contract/graders/grader-types.ts';
import { type Setting, settings, type WeightedGrader } from '../../contract/settings.ts';
import {
  type Dimension,
  directions,
  type Space,
  sweepBounds,
  usualMetric,
  usualTrials,
  type VariedSetting,
  variedSettings,
} from '../../contract/sweeps.ts';
import { comparesAnswers } from '../../contract/training/steps.ts';
import type { Graders } from '../graders/graders.ts';
import { settingSchema, type TrainingRequest, trainingRequest } from '../training/training-request.ts';

const isNumber = (setting: Setting) => setting.kind === 'integer' || setting.kind === 'number';

function dimensionOf(name: VariedSetting): v.GenericSchema<Written> {
  const value = settingSchema(name);
  const choices = v.pipe(
    v.array(value),
    v.minLength(1, 'must have at least one value'),
    v.maxLength(sweepBounds.choices),
  );
  const chosen = { choices: v.optional(choices) };
  const ranged = { ...chosen, low: v.optional(value), high: v.optional(value), log: v.optional(v.boolean()) };
  return v.strictObject(isNumber(settings[name]) ? ranged : chosen) as unknown as v.GenericSchema<Written>;
}

/** A training request whose settings vary. */
export const sweepRequest = v.strictObject({
  ...trainingRequest.entries,
  space: v.pipe(
    v.strictObject(
      Object.fromEntries(variedSettings.map((name) => [name, v.optional(dimensionOf(name))])) as unknown as {
        [N in VariedSetting]: v.OptionalSchema<v.GenericSchema<Written>, undefined>;
      },
    ),
    v.description(
      'The settings that vary: each has `choices`, or `low` and `high` with `log` for orders of magnitude.',
    ),
  ),
  trials: v.optional(
    v.pipe(
      v.number(),
      v.integer('must be a whole number'),
      v.minValue(1, 'must be at least 1'),
      v.maxValue(sweepBounds.trials, `must be at most ${sweepBounds.trials}`),
    ),
    usualTrials,
  ),
  metric: v.pipe(
    v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(100)), usualMetric),
    v.description(
      'A metric of the evaluations, or `grader:NAME` for the mean score of a stored grader on the validation rows.',
    ),
  ),
  direction: v.pipe(
    v.optional(v.picklist(directions)),
    v.description('Default: errors such as losses are minimized, other metrics maximized.'),
  ),
  culling: v.pipe(
    v.optional(v.boolean(), true),
    v.description('Whether trials are stopped early that are worse than others at the same point.'),
  ),
});
export type SweepRequest = v.InferOutput<typeof sweepRequest>;

/** A dimension as it is written in a request. */
interface Written {
  readonly choices?: readonly (number | string | boolean)[] | undefined;
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  readonly log?: boolean | undefined;
}

/** An example request for the API description. */
export const sweepExample = {
  task: 'text-generation',
  model_name: 'Qwen/Qwen3-0.6B',
  dataset: 'support.jsonl',
  eval_split: 0.1,
  space: {
    learning_rate: { low: 1e-5, high: 1e-3, log: true },
    lora_r: { choices: [8, 16, 32] },
  },
  trials: 20,
};

/** The training request that all trials share, with the grader of the metric. */
export function sharedRequest(request: Partial<SweepRequest>): Partial<TrainingRequest> {
  const {
    space: _space,
    trials: _trials,
    metric = usualMetric,
    direction: _direction,
    culling: _culling,
    ...rest
  } = request;
  const grader = graderOf(metric);
  // Where graders are the reward, another one would change it.
  if (grader === null || comparesAnswers(rest.strategy)) return rest;
  const isIt = (one: WeightedGrader) => nameOf(one) === grader;
  const graders = rest.graders ?? [];
  return { ...rest, graders: [graders.find(isIt) ?? grader, ...graders.filter((one) => !isIt(one))] };
}

/** A shared request with its stored graders as they are now, which all trials have, under the names that were asked for. */
export function withFrozenGraders(
  request: Partial<TrainingRequest>,
  stored: Pick<Graders, 'get'>,
): Partial<TrainingRequest> {
  const graders = request.graders?.map((one) => {
    const named = typeof one === 'string' ? { name: one } : one;
    return named.name === undefined ? named : { ...named, grader: stored.get(named.name).definition };
  });
  return graders === undefined ? request : { ...request, graders };
}

/** The request as it was asked for. */
export function asAsked<R extends Partial<TrainingRequest>>(request: R): R {
  const graders = request.graders?.map((one) => {
    if (typeof one === 'string' || one.name === undefined) return one;
    return one.weight === undefined ? one.name : { name: one.name, weight: one.weight };
  });
  return graders === undefined ? request : { ...request, graders };
}

/** The name of a grader of a run, as it is told. */
export const nameOf = (grader: WeightedGrader): unknown =>
  typeof grader === 'string' ? grader : (grader.name ?? grader.grader?.name ?? grader.grader?.type);

/** A valid request's space. */
export const spaceOf = (written: SweepRequest['space']): Space =>
  Object.fromEntries(entriesOf(written).map(([name, dimension]) => [name, toDimension(dimension)]));

const toDimension = ({ choices, low, high, log = false }: Written): Dimension =>
  choices === undefined ? { low: low as number, high: high as number, log } : { choices };

const entriesOf = (written: SweepRequest['space']) =>
  Object.entries(written).filter((entry): entry is [VariedSetting, Written] => entry[1] !== undefined);

/** What is wrong with a space. @param trials how many combinations are wanted. */
export function spaceFaults(written: SweepRequest['space'], trials: number | undefined): string[] {
  const entries = entriesOf(written);
  if (entries.length === 0) {
    return [
      `space has nothing in it, so nothing would vary. Name at least one of ${variedSettings.join(', ')}`,
    ];
  }
  const faults = entries.flatMap(([name, dimension]) => dimensionFaults(name, dimension));
  if (faults.length > 0) return faults;
  const combinations = entries.reduce((product, [name, dimension]) => product * sizeOf(name, dimension), 1);
  if (combinations === 1) return ['space has a single combination, so nothing would vary. Add values to it'];
  return trials !== undefined && trials > combinations
    ? [`trials is ${trials}, and space has ${combinations} combinations; lower trials to that, or add values`]
    : [];
}

function dimensionFaults(name: VariedSetting, { choices, low, high, log }: Written): string[] {
  const setting: Setting = settings[name];
  const fault = (text: string) => [`space.${name} ${text}`];
  if (choices !== undefined) {
    if (low !== undefined || high !== undefined || log !== undefined)
      return fault('has choices and a range; leave one of them out');
    return new Set(choices).size < choices.length ? fault('has a choice twice') : [];
  }
  if (!isNumber(setting)) return fault('needs choices');
  if (low === undefined || high === undefined) return fault('needs choices, or low and high');
  const { min } = setting as { min: number };
  if (low < min) return fault(`has a range from ${low}; a range begins at ${min} or more`);
  if (low >= high) return fault(`has a range from ${low} to ${high}; low must be less than high`);
  return log && low <= 0 ? fault('has a range from 0; with log, low must be greater than 0') : [];
}

/** The number of values of a dimension. */
function sizeOf(name: VariedSetting, { choices, low = 0, high = 0 }: Written): number {
  if (choices !== undefined) return choices.length;
  return settings[name].kind === 'integer' ? high - low + 1 : Infinity;
}

/**
 * Requests that together have each choice in words and both ends of each range: whatever can be wrong with the values of a
 * space is wrong in one of them.
 */
export function corners(request: Partial<SweepRequest>): Partial<TrainingRequest>[] {
  const entries = entriesOf(request.space ?? {});
  const words = entries.map(([, { choices = [] }]) => (typeof choices[0] === 'string' ? choices.length : 2));
  const count = entries.length === 0 ? 1 : Math.max(2, ...words);
  return Array.from({ length: count }, (_, index) => ({
    ...sharedRequest(request),
    ...Object.fromEntries(
      entries.map(([name, { choices, low, high }]) => [
        name,
        choices === undefined ? (index % 2 === 0 ? low : high) : valueAt(choices, index),
      ]),
    ),
  }));
}

/** Each word in turn; of numbers and switches, the first and the last. */
const valueAt = (choices: readonly unknown[], index: number) =>
  typeof choices[0] === 'string' ? choices[index % choices.length] : choices.at(index % 2 === 0 ? 0 : -1);
