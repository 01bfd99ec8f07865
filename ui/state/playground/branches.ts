import type { Exchange } from './exchange.ts';

/** The version that is shown of what follows an exchange, by the ID of that exchange; empty for the first ones. */
export type Chosen = Readonly<Record<string, string>>;

/** What the next exchange follows. */
export const placeOf = ({ id, like }: Exchange): string => like ?? id;

/** The versions of an exchange, itself included, in the order in which they came. */
export const versionsOf = (all: readonly Exchange[], { after }: Exchange): readonly Exchange[] =>
  all.filter((one) => one.after === after);

/** The exchanges that are shown: from the first one, of each that follows the version that was chosen, or the latest. */
export function shownOf(all: readonly Exchange[], chosen: Chosen): readonly Exchange[] {
  const following = new Map<string, Exchange[]>();
  for (const one of all) following.set(one.after, [...(following.get(one.after) ?? []), one]);
  const shown: Exchange[] = [];
  let place = '';
  for (;;) {
    const versions = following.get(place);
    // What follows an exchange is passed once, whatever is stored.
    following.delete(place);
    const next = versions?.find(({ id }) => id === chosen[place]) ?? versions?.at(-1);
    if (next === undefined) return shown;
    shown.push(next);
    place = placeOf(next);
  }
}
