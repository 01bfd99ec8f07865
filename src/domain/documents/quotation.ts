/** What is shorter is no evidence: it stands nearly everywhere. */
const shortestCharacters = 10;

/** Characters that models write for one another. */
const alike = ["'‘’‛′", '"“”„‟″', '-‐‑‒–—'];

/** The pattern of a word. */
const patternOf = (word: string) =>
  [...word]
    .map((character) => {
      const others = alike.find((group) => group.includes(character));
      return others === undefined ? character.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : `[${others}]`;
    })
    .join('');

/**
 * Where a quotation stands in a text, as it stands there: white space, the form of accents, quotation marks and dashes may differ.
 * @returns `null` if it does not stand there, or is too short to be evidence.
 */
export function quotationIn(text: string, quotation: string): string | null {
  // It cannot stand there, whatever a model writes.
  if (quotation.length > 2 * text.length) return null;
  const words = quotation.normalize('NFC').trim().split(/\s+/);
  if (words.join('').length < shortestCharacters) return null;
  const pattern = words.map(patternOf).join('\\s+');
  return new RegExp(pattern, 'u').exec(text)?.[0] ?? null;
}
