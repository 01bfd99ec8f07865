/** What is shorter is no evidence: it stands nearly everywhere. */
const shortestCharacters = 10;

/**
 * Where a quotation stands in a text, as it stands there: white space and the form of accents may differ.
 * @returns `null` if it does not stand there, or is too short to be evidence.
 */
export function quotationIn(text: string, quotation: string): string | null {
  const words = quotation.normalize('NFC').trim().split(/\s+/);
  if (words.join('').length < shortestCharacters) return null;
  const pattern = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('\\s+');
  return new RegExp(pattern, 'u').exec(text)?.[0] ?? null;
}
