import {
  derivedText,
  type GoldenPrompt,
  type Setting,
  type SettingGroup,
  type SettingName,
  settingGroups,
  settings,
} from '../../src/contract/settings.ts';
import { lowRankSettings } from '../../src/contract/training/adapters.ts';
import type { TrainingBody } from '../api/service.ts';
import type { Draft } from '../state/drafts/draft.ts';
import { graderLine, readGrader } from './grader-lines.ts';
import { readNumber } from './read-number.ts';

/** A setting under its name. */
export type SettingField = Setting & { readonly name: SettingName };

/** A group of the form with its fields, as far as a strategy has it. */
export interface FieldGroup {
  readonly title: string;
  readonly fields: readonly SettingField[];
}

const isSetting = (name: string): name is SettingName => Object.hasOwn(settings, name);
const allFields = Object.entries(settings).map(
  ([name, setting]) => ({ ...setting, name: name as SettingName }) satisfies SettingField,
);

/** Whether a setting acts with a kind of adapter; without one, with that which is recommended. */
const acts = (name: SettingName, adapter: string | undefined) =>
  adapter !== 'full' || !lowRankSettings.some((one) => one === name);

/** The groups that the form shows for a strategy and a kind of adapter. */
export const groupsFor = (strategy: string, adapter?: string): readonly FieldGroup[] =>
  Object.entries(settingGroups)
    .filter(([, { strategies }]: [string, SettingGroup]) => strategies?.includes(strategy) ?? true)
    .map(([key, group]) => ({
      title: group.title,
      fields: allFields.filter((field) => field.group === key && acts(field.name, adapter)),
    }));

/** The field of a setting, where a strategy and a kind of adapter have it. */
export const settingField = (name: string, strategy: string, adapter?: string): SettingField | undefined =>
  groupsFor(strategy, adapter)
    .flatMap(({ fields }) => fields)
    .find((field) => field.name === name);

export const settingLabel = (name: string) =>
  isSetting(name) ? settings[name].label : name.replaceAll('_', ' ');

/** What an empty field means. */
export const emptyText = ({ empty }: Setting) => empty ?? 'automatic';

/** A setting's value in words. */
export function settingText(value: unknown): string {
  if (value === null || value === undefined) return 'automatic';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) {
    const lines = value.map((one) => (typeof one === 'object' ? graderLine(one) : String(one)));
    return lines.join(lines.some((one) => /[\s,]/.test(one)) ? '\n' : ', ');
  }
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** What a setting is derived from if the form leaves it out, in words. */
export const derivedHint = ({ derivedFrom }: Setting): string =>
  derivedFrom === undefined ? '' : `Default: ${derivedText(derivedFrom, settingLabel)}.`;

/**
 * The value that a setting has if a draft leaves it out, given the recommended values. A derived one follows the
 * draft's value of the other setting.
 */
export function valueIfLeftOut(
  { name, derivedFrom }: SettingField,
  draft: Pick<Draft, 'settings' | 'strategy'>,
  recommended: Readonly<Record<string, unknown>>,
): unknown {
  if (derivedFrom === undefined) return recommended[name];
  const { setting, factor } = derivedFrom;
  const { [setting as SettingName]: other = recommended[setting] } = readSettings(draft, [setting]);
  return factor * Number(other);
}

/** The range of a field in words. */
export function rangeText(field: Setting): string {
  if (field.kind !== 'number' && field.kind !== 'integer') return '';
  const { min, max, above, below, special } = field;
  const low = `${above ? 'above ' : ''}${min}`;
  const high = max === undefined ? null : `${below ? 'below ' : ''}${max.toLocaleString('en')}`;
  const range = high === null ? (above ? low : `${low} or more`) : `${low} to ${high}`;
  return special === undefined ? range : `${range}, or ${String(special.value).replace('-', '−')}`;
}

const parts = (text: string, separator: string) =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter(Boolean);

/** A line of prompts: JSON with a prompt in it, or the prompt itself. */
function readPrompt(line: string): GoldenPrompt {
  try {
    const value = JSON.parse(line);
    return typeof value?.prompt === 'string' ? value : line;
  } catch {
    return line;
  }
}

/** A field's text as the request carries it, or what is wrong with it; empty means the recommendation. */
export function readSetting(field: SettingField, text: string): { value: unknown } | { fault: string } {
  const trimmed = text.trim();
  if (trimmed === '') return { value: undefined };
  switch (field.kind) {
    case 'switch':
      return { value: trimmed === 'on' };
    case 'choice':
    case 'text':
      return { value: trimmed };
    case 'names':
    case 'prompts': {
      const value = field.kind === 'names' ? parts(trimmed, ',') : parts(trimmed, '\n').map(readPrompt);
      return value.length > field.maxItems
        ? { fault: `There must be at most ${field.maxItems} ${field.label.toLowerCase()}.` }
        : { value };
    }
    case 'graders': {
      const found = parts(trimmed, '\n').map(readGrader);
      const wrong = found.find((one) => 'fault' in one);
      return wrong ?? { value: found.flatMap((one) => ('grader' in one ? [one.grader] : [])) };
    }
    case 'format':
      try {
        return { value: JSON.parse(trimmed) };
      } catch {
        return { fault: `${field.label} must be JSON.` };
      }
    default: {
      const value = readNumber(trimmed);
      if (!Number.isFinite(value)) return { fault: `${field.label} must be a number.` };
      if (field.kind === 'integer' && !Number.isInteger(value)) {
        return { fault: `${field.label} must be a whole number.` };
      }
      const { min, max, above, below, special } = field;
      const low = above ? value <= min : value < min;
      const high = max !== undefined && (below ? value >= max : value > max);
      if ((low || high) && value !== special?.value) {
        return { fault: `${field.label} must be ${rangeText(field)}.` };
      }
      return { value };
    }
  }
}

/** The settings among a draft's texts that can be read, as a request carries them; `names` limits which. */
export function readSettings(
  { settings: texts, strategy }: Pick<Draft, 'settings' | 'strategy'>,
  names: readonly string[] = Object.keys(texts),
): Partial<TrainingBody> {
  const read = names.flatMap((name) => {
    const field = settingField(name, strategy, texts.adapter);
    const found = field === undefined ? null : readSetting(field, texts[name] ?? '');
    return found !== null && 'value' in found && found.value !== undefined ? [[name, found.value]] : [];
  });
  // Each name is a setting's, and each value is of its kind.
  return Object.fromEntries(read) as Partial<TrainingBody>;
}

/** The settings of a request as texts of the form. */
export function settingTexts(
  request: Readonly<Record<string, unknown>>,
  strategy: string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request).flatMap(([name, value]) => {
      const field = settingField(name, strategy);
      if (field === undefined || value == null) return [];
      const isList = (field.kind === 'prompts' || field.kind === 'graders') && Array.isArray(value);
      return [[name, isList ? value.map(settingText).join('\n') : settingText(value)]];
    }),
  );
}
