/** Something that the palette finds. */
export interface Entry {
  /** Tells it from all others, also after its list was read again. */
  readonly key: string;
  readonly kind: string;
  readonly name: string;
  readonly details: readonly string[];
  readonly choose: () => void;
}

/** Whether a letter or a digit stands before a place of a text. */
const isWithinWord = (text: string, at: number) => /[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, at - 2), at));

/** How well a text has a word: 0 at its start, 1 at that of one of its words, 2 elsewhere; `null` if not at all. */
function placeOf(text: string, word: string): number | null {
  let best: number | null = null;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0) return 0;
    if (!isWithinWord(text, at)) return 1;
    best = 2;
  }
  return best;
}

/** A word of the details counts less than any of the name. */
const detailRank = 3;

/** The entries that have every word of a query in the name or the details, the best matches first, else in their order. */
export function findEntries(entries: readonly Entry[], query: string): readonly Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries;
  const found: { readonly entry: Entry; readonly rank: number }[] = [];
  for (const entry of entries) {
    const name = entry.name.toLowerCase();
    const detail = entry.details.join(' ').toLowerCase();
    let rank = 0;
    for (const word of words)
      rank += placeOf(name, word) ?? (detail.includes(word) ? detailRank : Number.NaN);
    if (!Number.isNaN(rank)) found.push({ entry, rank });
  }
  return found.sort((a, b) => a.rank - b.rank).map(({ entry }) => entry);
}
