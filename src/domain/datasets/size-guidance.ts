/** The recommended numbers of examples by model size (docs/specification.md, Datasets). */
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
 * Warnings about a dataset's size.
 * @param parameters the size of the model to train; `null` if none is chosen, for warnings about every size that the
 *   dataset is too small for.
 */
export function sizeWarnings(numExamples: number, parameters: number | null): string[] {
  if (parameters !== null) {
    // The ranges share their bounds: exactly 1B belongs to the row that starts there, 3B and 7B to the one that ends.
    const row = guidance.find(({ upTo }) => parameters < upTo || (upTo > 1e9 && parameters === upTo));
    if (row === undefined || numExamples >= row.recommended) return [];
    const few = numExamples < row.minimum ? ` (minimum ${row.minimum})` : '';
    return [
      `The dataset has ${examples(numExamples)}. For a model of this size (${row.name}), ${row.recommended} are recommended${few}.`,
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
      : [`The dataset has ${examples(numExamples)}. The minimum is ${list(tooFew, 'minimum')}.`]),
    ...(few.length === 0
      ? []
      : [`The dataset has ${examples(numExamples)}. Recommended: ${list(few, 'recommended')}.`]),
  ];
}
