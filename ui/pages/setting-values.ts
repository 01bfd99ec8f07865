import type { TrainingBody } from '../api/service.ts';
import type { Draft } from '../state/draft.ts';
import { type SettingField, settingGroups } from './setting-groups.ts';

const byName = new Map<string, SettingField>(
  settingGroups.flatMap(({ fields }) => fields).map((field) => [field.name, field]),
);

const strategyOf = new Map<string, string | undefined>(
  settingGroups.flatMap(({ fields, strategy }) => fields.map(({ name }) => [name, strategy] as const)),
);

/** The field of a setting, where a strategy has it. */
export function settingField(name: string, strategy: string): SettingField | undefined {
  const own = strategyOf.get(name);
  return own === undefined || own === strategy ? byName.get(name) : undefined;
}
export const settingLabel = (name: string) => byName.get(name)?.label ?? name.replaceAll('_', ' ');

/** A setting's value in words. */
export function settingText(value: unknown): string {
  if (value === null || value === undefined) return 'automatic';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The range of a field in words. */
export function rangeText({ min, max, above, below, special }: SettingField): string {
  if (min === undefined) return '';
  const low = `${above ? 'above ' : ''}${min}`;
  const high = max === undefined ? null : `${below ? 'below ' : ''}${max.toLocaleString('en')}`;
  const range = high === null ? (above ? low : `${low} or more`) : `${low} to ${high}`;
  return special === undefined ? range : `${range}, or ${special === -1 ? '−1' : special}`;
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
      return {
        value: trimmed
          .split(',')
          .map((name) => name.trim())
          .filter(Boolean),
      };
    case 'lines':
      return {
        value: trimmed
          .split('\n')
          .map((line) => line.trim())
          .filter(Boolean),
      };
    default: {
      const value = Number(trimmed);
      if (!Number.isFinite(value)) return { fault: `${field.label} must be a number.` };
      if (field.kind === 'integer' && !Number.isInteger(value)) {
        return { fault: `${field.label} must be a whole number.` };
      }
      const { min, max, above, below, special } = field;
      const low = min !== undefined && (above ? value <= min : value < min);
      const high = max !== undefined && (below ? value >= max : value > max);
      if ((low || high) && value !== special) return { fault: `${field.label} must be ${rangeText(field)}.` };
      return { value };
    }
  }
}

/** The settings among a draft's texts that can be read, as a request carries them; `names` limits which. */
export function readSettings(
  { settings, strategy }: Pick<Draft, 'settings' | 'strategy'>,
  names: readonly string[] = Object.keys(settings),
): Partial<TrainingBody> {
  const read = names.flatMap((name) => {
    const field = settingField(name, strategy);
    const found = field === undefined ? null : readSetting(field, settings[name] ?? '');
    return found !== null && 'value' in found && found.value !== undefined ? [[name, found.value]] : [];
  });
  // Each name is a field's, and each value is of its field's kind, which the table holds against the request.
  return Object.fromEntries(read) as Partial<TrainingBody>;
}
