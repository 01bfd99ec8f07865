/** The number of letters to add, remove or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...a].entries()) {
    const line = [row + 1];
    for (const [column, other] of [...b].entries()) {
      const replaced = (before[column] as number) + (letter === other ? 0 : 1);
      line.push(Math.min(replaced, (before[column + 1] as number) + 1, (line[column] as number) + 1));
    }
    before = line;
  }
  return before.at(-1) as number;
}

/** The name that was probably meant, or `null` if none resembles it. */
export function nearest(name: string, names: readonly string[]): string | null {
  const plain = (text: string) => text.toLowerCase().replaceAll('_', '-');
  const ranked = names
    .map((one) => ({ one, far: distance(plain(name), plain(one)) }))
    .sort((a, b) => a.far - b.far);
  const [best] = ranked;
  return best !== undefined && best.far <= Math.max(2, name.length / 3) ? best.one : null;
}
