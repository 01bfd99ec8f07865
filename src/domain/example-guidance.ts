/** Specification, "Limits", size guidance: how many examples models of a size need, and should have. */
const guidance: readonly {
  readonly upTo: number;
  readonly name: string;
  readonly minimum: number;
  readonly recommended: number;
}[] = [
  { upTo: 1e9, name: 'under 1B parameters', minimum: 100, recommended: 500 },
  { upTo: 3e9, name: 'of 1B to 3B', minimum: 200, recommended: 1_000 },
  { upTo: 7e9, name: 'of 3B to 7B', minimum: 500, recommended: 2_000 },
  { upTo: Number.POSITIVE_INFINITY, name: 'over 7B', minimum: 1_000, recommended: 5_000 },
];

const examples = (count: number) => `${count} ${count === 1 ? 'example' : 'examples'}`;

/**
 * What is to be said of a dataset's size.
 * @param parameters the size of the model that shall be trained; `null` where none is chosen yet, which
 *   tells of every size that the dataset is too small for.
 */
export function sizeWarnings(numExamples: number, parameters: number | null): string[] {
  if (parameters !== null) {
    // The table's ranges meet: a model of exactly 1B, 3B or 7B is counted to the row that begins, or ends, there.
    const row = guidance.find(({ upTo }) => parameters < upTo || (upTo > 1e9 && parameters === upTo));
    if (row === undefined || numExamples >= row.recommended) return [];
    const few = numExamples < row.minimum ? `, and at least ${row.minimum} are needed` : '';
    return [
      `The dataset has ${examples(numExamples)}; for a model of this size (${row.name}) ${row.recommended} are recommended${few}.`,
    ];
  }
  const tooFew = guidance.filter(({ minimum }) => numExamples < minimum);
  const few = guidance.filter(
    ({ minimum, recommended }) => numExamples >= minimum && numExamples < recommended,
  );
  const list = (rows: typeof guidance, figure: 'minimum' | 'recommended') =>
    rows.map((row) => `${row[figure]} for models ${row.name}`).join(', ');
  return [
    ...(tooFew.length === 0
      ? []
      : [`The dataset has ${examples(numExamples)}; at least needed are ${list(tooFew, 'minimum')}.`]),
    ...(few.length === 0
      ? []
      : [`The dataset has ${examples(numExamples)}; recommended are ${list(few, 'recommended')}.`]),
  ];
}
