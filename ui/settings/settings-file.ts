import { quantizationTypes } from '../../src/contract/models/quantizations.ts';
import { type SettingName, settings } from '../../src/contract/settings.ts';
import { trackerNames } from '../../src/contract/training/trackers.ts';
import type { FieldFault } from '../api/request.ts';
import { download, fileNameOf } from '../elements/download.ts';
import { readSetting, type SettingField } from './setting-values.ts';

/** A training request, as far as it is known: the contents of a settings file. */
export type SettingsRequest = Readonly<Record<string, unknown>>;

/** A larger file is not one of settings. */
export const settingsFileBytes = 2 ** 20;

/** Saves a request as a file, which `POST /api/start_training` takes as it is. */
export function saveSettings(name: string, request: SettingsRequest): void {
  download(`${fileNameOf(name)}.settings.json`, `${JSON.stringify(request, null, 2)}\n`, 'application/json');
}

const texts = ['task', 'model_name', 'dataset', 'validation_dataset', 'provider', 'strategy', 'project'];
/** Fields of a request that the form decides itself. */
const own = ['queue', 'compute_specs'];

/** Reads a settings file: the request, or what is wrong with it, by field. */
export function readSettingsFile(text: string): { request: SettingsRequest } | { faults: FieldFault[] } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { faults: [{ field: '', message: `The file is not JSON: ${(error as Error).message}.` }] };
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return { faults: [{ field: '', message: 'The file must be a JSON object of settings.' }] };
  }
  const faults: FieldFault[] = [];
  const request: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(parsed)) {
    if (value === null || own.includes(field)) continue;
    const message = faultOf(field, value);
    if (message === null) request[field] = value;
    else faults.push({ field, message });
  }
  if (faults.length === 0 && Object.keys(request).length === 0) {
    faults.push({ field: '', message: 'The file has no settings.' });
  }
  return faults.length > 0 ? { faults } : { request };
}

/** What is wrong with a field; `null` if nothing. */
function faultOf(field: string, value: unknown): string | null {
  if (texts.includes(field)) return typeof value === 'string' && value !== '' ? null : 'must be a text.';
  if (field === 'merge_adapter') return typeof value === 'boolean' ? null : 'must be true or false.';
  if (field === 'export') return exportFault(value);
  if (field === 'report_to') return reportFault(value);
  if (!Object.hasOwn(settings, field)) return 'is not a setting.';
  const setting: SettingField = { ...settings[field as SettingName], name: field as SettingName };
  switch (setting.kind) {
    case 'switch':
      return typeof value === 'boolean' ? null : 'must be true or false.';
    case 'prompts':
      return Array.isArray(value) ? null : 'must be a list of prompts.';
    case 'names':
      return Array.isArray(value) && value.every((one) => typeof one === 'string')
        ? null
        : 'must be a list of texts.';
    case 'graders':
      return Array.isArray(value) ? null : 'must be a list of graders.';
    case 'format':
      return typeof value === 'object' ? null : 'must be an object.';
    case 'choice':
    case 'text':
      if (typeof value !== 'string') return 'must be a text.';
      return setting.choices === undefined || setting.choices.includes(value)
        ? null
        : `must be one of ${setting.choices.join(', ')}.`;
    default: {
      if (typeof value !== 'number') return 'must be a number.';
      const read = readSetting(setting, String(value));
      return 'fault' in read ? read.fault.replace(`${setting.label} `, '') : null;
    }
  }
}

const reportFault = (value: unknown): string | null =>
  Array.isArray(value) && value.every((name) => (trackerNames as readonly unknown[]).includes(name))
    ? null
    : `must be a list with some of ${trackerNames.join(', ')}.`;

function exportFault(value: unknown): string | null {
  if (value === 'none') return null;
  const types = (value as { quantizations?: unknown } | null)?.quantizations;
  const known = (quantizationTypes as readonly unknown[]).includes.bind(quantizationTypes);
  return Array.isArray(types) && types.length > 0 && types.every((type) => known(type))
    ? null
    : `must be "none" or {"quantizations": […]} with some of ${quantizationTypes.join(', ')}.`;
}
