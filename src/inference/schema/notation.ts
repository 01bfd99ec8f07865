/*
 * Pieces of GBNF, llama.cpp's notation of grammars.
 */

/** A text as it is. */
export const literal = (text: string): string => (text === '' ? '' : JSON.stringify(text));

/** One of several. */
export function oneOf(alternatives: readonly string[]): string {
  const [first = '""', ...others] = [...new Set(alternatives)];
  return others.length === 0 ? first : `(${[first, ...others].join(' | ')})`;
}

/** One after the other. */
export const inOrder = (...parts: readonly string[]): string => parts.filter(Boolean).join(' ');

/** From `least` to `most` of it; without an upper bound for `Infinity`. */
export function repeated(item: string, least: number, most: number): string {
  if (most === 0) return '';
  if (least === 1 && most === 1) return item;
  const one = /^(?:\[[^\]]*\]|"(?:[^"\\]|\\.)*"|[\w-]+)$/.test(item) ? item : `(${item})`;
  if (most === Number.POSITIVE_INFINITY) return least === 0 ? `${one}*` : `${one}{${least},}`;
  return `${one}{${least},${most}}`;
}
