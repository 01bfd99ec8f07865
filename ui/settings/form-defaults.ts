import { recommendedFor, type Settings, type SettingValues } from '../../src/contract/settings.ts';
import {
  type PresetFacts,
  type PresetName,
  type PresetSettings,
  presetSettingNames,
  presetSettings,
  usualValidationShare,
} from '../../src/contract/training/presets.ts';
import { heldOutRows, totalSteps } from '../../src/contract/training/steps.ts';
import { datasets, settings } from '../state/app.ts';
import { draft } from '../state/drafts/draft.ts';
import { presetFacts } from '../state/preset-facts.ts';
import { readSettings } from './setting-values.ts';

/** As many rows at once need little memory on a processor, which computes them in parts. */
const rowsAtOnceOnProcessor = 8;

const rowsOf = (name: string): number | null =>
  datasets.value.value?.find(({ filename }) => filename === name)?.num_examples ?? null;

/** The share that is held out if the field is left alone; `null` while the dataset is unknown. */
function validationShare(): number | null {
  const rows = rowsOf(draft.value.dataset);
  return rows === null ? null : usualValidationShare(rows);
}

/** What the presets are computed from; `null` until a dataset is chosen and the recommended settings are known. */
function facts(): PresetFacts | null {
  const { dataset, validationDataset, strategy, settings: texts } = draft.value;
  const [rows, recommended, known] = [rowsOf(dataset), settings.value.value, presetFacts.value];
  if (rows === null || recommended === null) return null;
  const { eval_split: share = validationShare() ?? 0 } = readSettings(draft.value, ['eval_split']);
  const held = validationDataset === '' ? heldOutRows(rows, Number(share)) : 0;
  return {
    strategy,
    adapter: texts.adapter,
    rows: Math.max(1, rows - held),
    heldOutRows: validationDataset === '' ? held : (rowsOf(validationDataset) ?? 0),
    parameters: known?.parameters ?? null,
    secondsPerRow: known?.passSeconds == null ? null : known.passSeconds / Math.max(1, rows),
    rowsAtOnce: known?.onGpu === false ? rowsAtOnceOnProcessor : recommended.per_device_train_batch_size,
  };
}

/** The numbers of a preset for the draft, and how long they take as far as that is known; `null` while unknown. */
export function presetOf(name: PresetName): {
  readonly settings: PresetSettings;
  readonly steps: number;
  readonly seconds: number | null;
} | null {
  const known = facts();
  const found = known && presetSettings(name, known);
  if (known === null || found === null) return null;
  const { strategy, rows, secondsPerRow } = known;
  return {
    settings: found,
    steps: totalSteps({ ...found, max_steps: -1, eval_split: 0, group_size: null }, strategy, rows),
    seconds: secondsPerRow === null ? null : secondsPerRow * rows * found.num_train_epochs,
  };
}

/** Takes the numbers of a preset, also for settings that were changed. */
export function choosePreset(preset: PresetName): void {
  const chosen: readonly string[] = presetSettingNames;
  const own = Object.entries(draft.value.settings).filter(([name]) => !chosen.includes(name));
  draft.change({ preset, settings: Object.fromEntries(own) });
}

/** What the form gives values to if they are left alone: those of its preset, and the share to hold out. */
export function formDefaults(): Partial<PresetSettings & Pick<SettingValues, 'eval_split'>> {
  const { preset } = draft.value;
  // A form that was filled with the settings of a run means these.
  if (preset === null) return {};
  const share = validationShare();
  const chosen = presetOf(preset)?.settings;
  return share === null ? { ...chosen } : { ...chosen, eval_split: share };
}

/** The values of settings that are left alone: the form's own over the service's; `null` until these are known. */
export function defaultSettings(): Settings | null {
  const recommended = settings.value.value;
  const ofOthers = recommendedFor(draft.value.settings);
  return recommended === null ? null : ({ ...recommended, ...ofOthers, ...formDefaults() } as Settings);
}
