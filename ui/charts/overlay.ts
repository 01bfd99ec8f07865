import type { Values } from './smoothing.ts';

/** A line with x values of its own, which never decrease. */
export interface OwnLine {
  readonly x: readonly number[];
  readonly values: Values;
}

/** Lines over all of their x values, each `null` where it has no value of its own. */
export function overlaid(lines: readonly OwnLine[]): { x: number[]; values: (number | null)[][] } {
  const x: number[] = [];
  const values = lines.map((): (number | null)[] => []);
  const at = lines.map(() => 0);
  for (;;) {
    let next = Number.POSITIVE_INFINITY;
    for (const [index, line] of lines.entries()) next = Math.min(next, line.x[at[index] as number] ?? next);
    if (next === Number.POSITIVE_INFINITY) return { x, values };
    x.push(next);
    for (const [index, line] of lines.entries()) {
      const row = at[index] as number;
      const isHere = line.x[row] === next;
      (values[index] as (number | null)[]).push(isHere ? (line.values[row] ?? null) : null);
      if (isHere) at[index] = row + 1;
    }
  }
}
