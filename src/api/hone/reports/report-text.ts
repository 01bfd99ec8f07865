import { settings as knownSettings } from '../../../contract/settings.ts';

/** A moment to the minute. */
export const momentOf = (iso: string) => `${iso.slice(0, 16).replace('T', ' ')} UTC`;

/** A figure with three digits. */
export const numberOf = (value: number | null | undefined) =>
  value == null ? '–' : String(Number(value.toPrecision(3)));

/** What the page calls a setting. */
export const settingLabel = (name: string) =>
  Object.hasOwn(knownSettings, name) ? knownSettings[name as keyof typeof knownSettings].label : name;

/** A setting's value. */
export const settingText = (value: unknown) =>
  value == null
    ? 'automatic'
    : Array.isArray(value)
      ? value.map(entryText).join(', ')
      : withoutFolders(String(value));

/** An entry of a list: a text, a prompt with a test, or a grader with its weight. */
const entryText = (entry: unknown): string => {
  const { prompt, grader } = Object(entry) as { prompt?: string; grader?: { name?: string } };
  return prompt ?? grader?.name ?? String(entry);
};

/** A text without the folders of this machine: of a path its last part. Names of the hub stay whole. */
export const withoutFolders = (text: string): string =>
  /^(?:[/~.]|[A-Za-z]:\\)/.test(text)
    ? (text.split(/[\\/]/).findLast((part) => part !== '') ?? text)
    : text.replace(/(?<![\w:/])(?:~|[A-Za-z]:)?[\\/](?:[^\s\\/'"]+[\\/])+/g, '');
