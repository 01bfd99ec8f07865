import { type VariedSetting, variedSettings } from '../../src/contract/sweeps.ts';
import type { SweepBody } from '../api/service.ts';
import type { Draft } from '../state/drafts/draft.ts';
import type { SweepDraft, WrittenDimension } from '../state/drafts/sweep-draft.ts';
import { readSetting, type SettingField, settingField, valueIfLeftOut } from './setting-values.ts';

/** A setting that varies, as far as the strategy has it. */
export interface DimensionField {
  readonly field: SettingField;
  readonly written: WrittenDimension;
  readonly read: ReadDimension;
}

type ReadDimension =
  | { readonly value: Readonly<Record<string, unknown>>; readonly size: number }
  | { readonly fault: string };

const range = (low: number | string, high: number | string, log = false): WrittenDimension => ({
  kind: 'range',
  choices: '',
  log,
  low: String(low),
  high: String(high),
});
const choices = (...values: (number | string)[]): WrittenDimension => ({
  kind: 'choices',
  low: '',
  high: '',
  log: false,
  choices: values.join(', '),
});

/** Where the present value says little about good ones. */
const usual: Partial<Record<VariedSetting, WrittenDimension>> = {
  num_train_epochs: choices(1, 2, 3, 5),
  max_steps: choices(100, 200, 400),
  lora_dropout: range(0, 0.2),
  warmup_ratio: range(0, 0.2),
  weight_decay: range(0, 0.1),
  max_grad_norm: choices(0.3, 1, 3),
  optim: choices('adamw_torch', 'sgd'),
  lr_scheduler_type: choices('cosine', 'linear', 'constant'),
};

/** Values to begin with: around the present one. */
export function proposedDimension(
  field: SettingField,
  draft: Pick<Draft, 'settings' | 'strategy'>,
  recommended: Readonly<Record<string, unknown>>,
): WrittenDimension {
  const known = usual[field.name as VariedSetting];
  if (known !== undefined) return known;
  if (field.kind === 'switch') return choices('on', 'off');
  const written = readSetting(field, draft.settings[field.name] ?? '');
  const own = 'value' in written ? written.value : undefined;
  const now = Number(own ?? valueIfLeftOut(field, draft, recommended));
  if (!(now > 0)) return range('', '');
  if (field.kind === 'integer') return choices(...new Set([Math.ceil(now / 2), now, 2 * now]));
  const { max = Number.POSITIVE_INFINITY } = field as { max?: number };
  return range(Number((now / 10).toPrecision(2)), Math.min(max, Number((now * 10).toPrecision(2))), true);
}

/** The settings that can vary with a strategy. */
export const variedFields = (strategy: string): SettingField[] =>
  variedSettings.flatMap((name) => settingField(name, strategy) ?? []);

/** The settings that a draft varies, in the order in which they were added. */
export const dimensionFields = ({ space }: Pick<SweepDraft, 'space'>, strategy: string): DimensionField[] =>
  Object.entries(space).flatMap(([name, written]) => {
    const field = variedFields(strategy).find((one) => one.name === name);
    return field === undefined ? [] : [{ field, written, read: readDimension(field, written) }];
  });

/** A dimension as the request carries it and its number of values, or what is wrong with it. */
export function readDimension(field: SettingField, written: WrittenDimension): ReadDimension {
  return written.kind === 'choices' ? readChoices(field, written) : readRange(field, written);
}

function readChoices(field: SettingField, written: WrittenDimension): ReadDimension {
  const texts = written.choices
    .split(',')
    .map((text) => text.trim())
    .filter(Boolean);
  if (texts.length === 0) return { fault: `Name at least one value of ${field.label}.` };
  if (field.kind === 'switch' && texts.some((text) => text !== 'on' && text !== 'off'))
    return { fault: `${field.label} is on or off.` };
  const read = texts.map((text) => readSetting(field, text));
  const wrong = read.find((one) => 'fault' in one);
  if (wrong !== undefined && 'fault' in wrong) return wrong;
  const values = read.map((one) => ('value' in one ? one.value : null));
  if (new Set(values).size < values.length) return { fault: `${field.label} has a value twice.` };
  return { value: { choices: values }, size: values.length };
}

function readRange(field: SettingField, { low, high, log }: WrittenDimension): ReadDimension {
  const ends = [readSetting(field, low), readSetting(field, high)] as const;
  for (const end of ends) if ('fault' in end) return end;
  const [from, to] = ends.map((end) => ('value' in end ? end.value : undefined));
  if (typeof from !== 'number' || typeof to !== 'number')
    return { fault: `${field.label} needs a lowest and a highest value.` };
  const { min } = field as { min: number };
  if (from < min) return { fault: `A range of ${field.label} begins at ${min} or more.` };
  if (from >= to) return { fault: `The lowest ${field.label} must be less than the highest.` };
  if (log && from <= 0) return { fault: `On a log scale, the lowest ${field.label} must be above 0.` };
  const size = field.kind === 'integer' ? to - from + 1 : Number.POSITIVE_INFINITY;
  return { value: { low: from, high: to, log }, size };
}

/** The space as the request carries it, without dimensions that cannot be read. */
export const readSpace = (dimensions: readonly DimensionField[]): SweepBody['space'] =>
  Object.fromEntries(
    dimensions.flatMap(({ field, read }) => ('value' in read ? [[field.name, read.value]] : [])),
  );

/** The number of combinations. */
export const combinations = (dimensions: readonly DimensionField[]): number =>
  dimensions.reduce((product, { read }) => product * ('size' in read ? read.size : 1), 1);
