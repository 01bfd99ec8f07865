const locales = ['en-US', 'en-GB', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'sv', 'pl', 'tr', 'id'];
const styles = ['full', 'long'] as const;
const [firstDay, days] = [Date.UTC(1950, 0, 1), 36_500];
const dayMs = 86_400_000;

/**
 * Different dates in the words of twelve languages and countries, from the CLDR data in Node, each with its ISO form. The
 * first ones are the same for every `count`; the words change between versions of Node.
 */
export function makeDates(count: number): [string, string][] {
  // The linear congruential generator of Numerical Recipes, from 0 to 1.
  let state = 20_260_103;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
  const dates = new Map<string, string>();
  while (dates.size < count) {
    const date = new Date(firstDay + Math.floor(random() * days) * dayMs);
    const format = new Intl.DateTimeFormat(pick(locales), { dateStyle: pick(styles), timeZone: 'UTC' });
    // Some languages have spaces that do not break.
    dates.set(
      format
        .format(date)
        .normalize('NFC')
        .replace(/[\u00a0\u202f]/g, ' '),
      date.toISOString().slice(0, 10),
    );
  }
  return [...dates];
}
