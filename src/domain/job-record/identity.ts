import { identityBounds } from '../../contract/identity.ts';

/** What people call a run or a model. */
export interface Identity {
  readonly displayName: string;
  readonly notes: string;
  readonly tags: readonly string[];
}

/** A change of it; `displayName: null` is the default name. */
export type IdentityChange = {
  readonly [K in keyof Identity]?: (K extends 'displayName' ? string | null : Identity[K]) | undefined;
};

/** The dataset's part of a default name, so that the rest always fits. */
const datasetChars = 80;

/** The default name of a run: its dataset, epochs (or steps) and learning rate, as `support · 6 epochs · 3e-3`. */
export function defaultName(dataset: string, settings: Readonly<Record<string, unknown>>): string {
  const { num_train_epochs: epochs, max_steps: steps, learning_rate: rate } = settings;
  const count = (value: number, word: string) =>
    `${Number(value.toPrecision(6))} ${word}${value === 1 ? '' : 's'}`;
  const parts = [
    dataset
      .replace(/\.jsonl$/i, '')
      .slice(0, datasetChars)
      // The cut may have left half a character.
      .replace(/[\ud800-\udbff]$/, ''),
    typeof steps === 'number' && steps > 0
      ? count(steps, 'step')
      : typeof epochs === 'number'
        ? count(epochs, 'epoch')
        : '',
    typeof rate === 'number' ? Number(rate.toPrecision(3)).toExponential().replace('e+', 'e') : '',
  ];
  return parts.filter(Boolean).join(' · ').slice(0, identityBounds.displayName);
}
