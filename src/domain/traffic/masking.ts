import { existsSync } from 'node:fs';
import { AppError } from '../../errors.ts';
import { maskingFolder, maskTexts } from '../../trainer/masking/mask.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';

/** What was masked in rows. */
export interface MaskedRows {
  readonly rows: object[];
  /** How many values of each kind. */
  readonly found: Readonly<Record<string, number>>;
  /** Whether names of people and places are found. */
  readonly names: boolean;
  /** Texts that were changed, as they were and as they are. */
  readonly examples: readonly { readonly before: string; readonly after: string }[];
}

/** Replaces personal data in rows. */
export interface Masking {
  readonly isInstalled: () => boolean;
  /** @throws AppError `conflict` if it is not installed. */
  mask(rows: readonly object[], signal: AbortSignal): Promise<MaskedRows>;
}

const mostExamples = 3;
/** The fields of messages with what was said. */
const textFields: ReadonlySet<string> = new Set(['content', 'text', 'reasoning_content', 'arguments']);

/** A copy of a value with every text of messages changed. */
function withTexts(value: unknown, change: (text: string) => string, key = ''): unknown {
  if (typeof value === 'string') return textFields.has(key) ? change(value) : value;
  if (Array.isArray(value)) return value.map((one) => withTexts(one, change, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === 'tools' ? one : withTexts(one, change, name)]),
  );
}

export function createMasking(command: TrainerCommand & { readonly dataDir: string }): Masking {
  const folder = command.dataDir;
  const packages = maskingFolder(folder);
  const isInstalled = () => existsSync(packages);
  return {
    isInstalled,
    async mask(rows, signal) {
      if (!isInstalled())
        throw new AppError(
          'conflict',
          'Masking needs Presidio, which is not installed. Run "hone mask add" on the machine of the service.',
        );
      // Each text once: conversations share their beginnings.
      const texts = new Set<string>();
      for (const row of rows)
        withTexts(row, (text) => {
          texts.add(text);
          return text;
        });
      const before = [...texts];
      const masked = await maskTexts(command, packages, before, { folder, signal });
      const after = new Map(before.map((text, at) => [text, masked.texts[at] ?? text]));
      const changed = [...after].filter(([text, now]) => text !== now);
      return {
        rows: rows.map((row) => withTexts(row, (text) => after.get(text) ?? text) as object),
        found: masked.found,
        names: masked.names,
        examples: changed.slice(0, mostExamples).map(([text, now]) => ({ before: text, after: now })),
      };
    },
  };
}
