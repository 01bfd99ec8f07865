import type { SettingValues } from '../settings.ts';
import { comparesAnswers } from './steps.ts';

/** How long a training from the form takes and how well it learns, from the shortest on. */
export const presetNames = ['quick', 'balanced', 'thorough'] as const;
export type PresetName = (typeof presetNames)[number];

/** What the numbers of a preset depend on. */
export interface PresetFacts {
  readonly strategy: string;
  /** The kind of adapter; LoRA unless given. */
  readonly adapter?: string | undefined;
  /** The rows to train on, without those that are held out. */
  readonly rows: number;
  readonly heldOutRows: number;
  /** The weights of the base model; `null` if unknown. */
  readonly parameters: number | null;
  /** How long one pass over one row took in earlier runs of the model here; `null` before the first. */
  readonly secondsPerRow: number | null;
  /** The most rows to compute at once, as far as memory is concerned. */
  readonly rowsAtOnce: number;
}

/** The settings that a preset gives values to. */
export const presetSettingNames = [
  'num_train_epochs',
  'learning_rate',
  'per_device_train_batch_size',
  'gradient_accumulation_steps',
  'keep_best',
] as const;
export type PresetSettings = Pick<SettingValues, (typeof presetSettingNames)[number]>;

interface Preset {
  readonly label: string;
  /** How often each row is seen where rows are many. */
  readonly passes: number;
  /** Few rows are seen more often, until there are as many steps: an adapter begins at zero. */
  readonly steps: number;
  /** Many passes over a handful of rows would only be memorized. */
  readonly mostPasses: number;
  /** A training that is known to take longer gets fewer passes, as long as its steps are enough. */
  readonly seconds: number;
}

/** Measured with models of 0.8 M and 135 M weights on 60, 400 and 2,000 rows (`bench/LOG.md`, Presets). */
export const presets: Readonly<Record<PresetName, Preset>> = {
  quick: { label: 'Quick', passes: 1, steps: 60, mostPasses: 10, seconds: 600 },
  balanced: { label: 'Balanced', passes: 3, steps: 120, mostPasses: 20, seconds: 3_600 },
  thorough: { label: 'Thorough', passes: 5, steps: 240, mostPasses: 30, seconds: 21_600 },
};

/** Rows of a step, by the rows that are trained on: few rows need small steps to have enough of them. */
const stepSizes = [
  { below: 32, rows: 2 },
  { below: 200, rows: 4 },
  { below: 1_000, rows: 8 },
  { below: 5_000, rows: 16 },
  { below: Number.POSITIVE_INFINITY, rows: 32 },
] as const;

/** The learning rate of a model of so many weights; it falls with the cube root of its size. */
const rate = { parameters: 135e6, value: 1e-3, least: 1e-4, most: 3e-3, unknown: 2e-4 };
/** Preferences need smaller updates: the loss falls for as long as the model leaves its base. */
const pairsShare = 1 / 4;
/** Where all weights are trained, each of them needs to change less. */
const wholeShare = 1 / 10;

/** Fewer rows than this are all trained on. */
const leastRowsToHoldOut = 50;
const heldOutShare = 0.1;
const mostHeldOutRows = 200;

/** The share of a dataset's rows that the form holds out unless told otherwise: a tenth, and at most 200 rows. */
export function usualValidationShare(rows: number): number {
  if (rows < leastRowsToHoldOut) return 0;
  const share = mostHeldOutRows / rows;
  if (share >= heldOutShare) return heldOutShare;
  // Three digits, rounded down.
  const digits = 10 ** (2 - Math.floor(Math.log10(share)));
  return Number((Math.floor(share * digits) / digits).toPrecision(3));
}

/** The values of a preset; `null` for a strategy that is not tuned by them. */
export function presetSettings(name: PresetName, facts: PresetFacts): PresetSettings | null {
  const { strategy, rows, heldOutRows, rowsAtOnce } = facts;
  // Its steps are made of answers rather than of rows.
  if (comparesAnswers(strategy)) return null;
  const ofStep = stepSizes.find(({ below }) => rows < below)?.rows ?? 1;
  const size = largestPart(ofStep, rowsAtOnce);
  return {
    num_train_epochs: passes(presets[name], facts, ofStep),
    learning_rate: rateFor(facts),
    per_device_train_batch_size: size,
    gradient_accumulation_steps: ofStep / size,
    keep_best: heldOutRows > 0,
  };
}

/** How often each row is seen. */
function passes(
  { passes: usual, steps, mostPasses, seconds }: Preset,
  { rows, secondsPerRow }: PresetFacts,
  ofStep: number,
): number {
  const enough = steps / Math.max(1, Math.ceil(rows / ofStep));
  const wanted = Math.min(mostPasses, Math.max(usual, enough));
  const affordable = secondsPerRow === null ? wanted : seconds / Math.max(1e-9, secondsPerRow * rows);
  const chosen = Math.min(wanted, Math.max(enough, affordable));
  // Whole ones, because each ends with an evaluation, unless one is too long.
  return chosen > 1 ? Math.ceil(chosen - 1e-9) : Math.max(0.01, Math.ceil(chosen * 100 - 1e-9) / 100);
}

function rateFor({ strategy, parameters, adapter }: PresetFacts): number {
  const rateOfLora = suitedRate(strategy, parameters) ?? oneDigit(shareOf(strategy) * rate.unknown);
  return adapter === 'full' ? oneDigit(rateOfLora * wholeShare) : rateOfLora;
}

/** The learning rate that suits a strategy and a model of so many weights; `null` where that is not known. */
export function suitedRate(strategy: string, parameters: number | null): number | null {
  if (parameters === null || parameters <= 0 || comparesAnswers(strategy)) return null;
  const suited = rate.value * Math.cbrt(rate.parameters / parameters);
  return oneDigit(shareOf(strategy) * oneDigit(Math.min(rate.most, Math.max(rate.least, suited))));
}

const shareOf = (strategy: string) => (strategy === 'dpo' || strategy === 'kto' ? pairsShare : 1);
const oneDigit = (value: number) => Number(value.toPrecision(1));

/** The largest number up to `most` that divides `whole`. */
function largestPart(whole: number, most: number): number {
  let part = Math.max(1, Math.min(whole, Math.floor(most)));
  while (whole % part !== 0) part -= 1;
  return part;
}
