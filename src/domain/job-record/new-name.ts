import { identityBounds } from '../../contract/identity.ts';
import { type SettingName, settings as settingTable } from '../../contract/settings.ts';
import { defaultName } from './identity.ts';

type Settings = Readonly<Record<string, unknown>>;

/** What a new run is named by. */
interface Named {
  readonly modelName: string;
  readonly datasetName: string;
  readonly settings: Settings;
}

/** Earlier runs whose names begin with a text, newest first, and what one of them was made with. */
interface Earlier {
  named(beginning: string): readonly { readonly id: number; readonly displayName: string }[];
  madeWith(id: number): { readonly modelName: string; readonly settings: Settings } | null;
}

/** More differences would make a name that is not read. */
const mostDifferences = 2;
/** They are in every name. */
const inDefault: readonly string[] = ['num_train_epochs', 'max_steps', 'learning_rate'];

/**
 * The name of a new run: the default one; if an earlier run has it, with what differs from the newest of these, as
 * `support · 6 epochs · 3e-3 · LoRA rank 32`; and with a number if that is taken, too.
 */
export function newName(run: Named, earlier: Earlier): string {
  const usual = defaultName(run.datasetName, run.settings);
  const others = earlier
    .named(usual)
    .filter(({ displayName }) => displayName === usual || displayName.startsWith(`${usual} `));
  const [newest] = others;
  if (newest === undefined) return usual;
  const before = earlier.madeWith(newest.id);
  const parts = before === null ? [] : differences(run, before).slice(0, mostDifferences);
  // An equal run has an equal name.
  const stem =
    parts.length === 0 ? newest.displayName.replace(/ \(\d+\)$/, '') : [usual, ...parts].join(' · ');
  const taken = new Set(others.map(({ displayName }) => displayName));
  for (let count = 1; ; count += 1) {
    const number = count === 1 ? '' : ` (${count})`;
    const room = identityBounds.displayName - number.length;
    const name = `${cut(stem, room)}${number}`;
    if (!taken.has(name)) return name;
  }
}

/** What a run was made with that another was not, in words; at first its model. */
function differences(run: Named, before: Pick<Named, 'modelName' | 'settings'>): string[] {
  const changed = (name: string) =>
    JSON.stringify(run.settings[name] ?? null) !== JSON.stringify(before.settings[name] ?? null);
  const model = run.modelName === before.modelName ? [] : [lastPart(run.modelName)];
  const names = (Object.keys(settingTable) as SettingName[]).filter((name) => {
    const setting = settingTable[name];
    // What follows from another setting says nothing more.
    const source = 'derivedFrom' in setting ? setting.derivedFrom.setting : null;
    return !inDefault.includes(name) && changed(name) && !(source !== null && changed(source));
  });
  return [...model, ...names.map((name) => `${settingTable[name].label} ${words(run.settings[name])}`)];
}

const lastPart = (modelName: string) => modelName.split(/[/\\]/).findLast((part) => part !== '') ?? modelName;

/** A value of a setting; a long one would leave no room for others. */
function words(value: unknown): string {
  if (value == null) return 'automatic';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'number') return String(Number(value.toPrecision(3)));
  return cut(Array.isArray(value) ? value.join(', ') : String(value), 30);
}

/** The beginning of a text on one line, without half a character. */
const cut = (text: string, length: number) =>
  text
    .replace(/\s+/g, ' ')
    .slice(0, length)
    .replace(/[\ud800-\udbff]$/, '');
