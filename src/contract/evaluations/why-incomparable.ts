/** What is known of the rows that an evaluation scored. */
interface ScoredRows {
  readonly dataset: string;
  readonly rows: number;
  /** `null` until they are copied. */
  readonly rows_digest: string | null;
}

/** Why the figures and rows of some evaluations cannot be compared, or `null`. */
export function whyIncomparable(found: readonly ScoredRows[]): string | null {
  const several = (of: (one: ScoredRows) => unknown) => new Set(found.map(of)).size > 1;
  const digests = found.map(({ rows_digest }) => rows_digest);
  if (found.length < 2 || (!digests.includes(null) && !several(({ rows_digest }) => rows_digest)))
    return null;
  const why = several(({ dataset }) => dataset)
    ? 'their datasets differ'
    : several(({ rows }) => rows)
      ? 'different numbers of rows were scored'
      : digests.includes(null)
        ? 'which rows were scored is not known of all'
        : `the rows of ${found[0]?.dataset} were changed in between`;
  return `These cannot be compared by their figures or row by row: ${why}.`;
}
