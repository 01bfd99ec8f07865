/** Deeper values are rejected: Python's JSON parser fails at about 1,000. */
export const maximumDepth = 100;

/** Whether a parsed value has arrays or objects in more than `levels` levels. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
