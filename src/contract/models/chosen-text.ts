import type { Chosen } from '../journal.ts';

/** What the files of a model are of, such as "50% of the adapter’s strength". */
export function chosenText({ strength, checkpoint }: Chosen): string {
  const adapter = checkpoint === null ? 'the adapter' : `the adapter of step ${checkpoint}`;
  if (strength === 1) return adapter;
  const percent = `${Math.round(1000 * strength) / 10}%`;
  return checkpoint === null
    ? `${percent} of the adapter’s strength`
    : `${percent} of the strength of ${adapter}`;
}
