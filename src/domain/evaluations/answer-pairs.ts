import { comparedRows } from '../../contract/evaluations/compared-rows.ts';
import { whyIncomparable } from '../../contract/evaluations/why-incomparable.ts';
import { refusalOf } from '../../faults.ts';
import type { Evaluations } from './evaluations.ts';

/** A row that two models answered. */
export interface AnsweredRow {
  readonly line: number;
  readonly request: string;
  readonly first: string;
  readonly second: string;
}

/**
 * The first rows that the models of two evaluations answered, as far as they are kept.
 * @throws AppError `not_found`, or `invalid` if they cannot be compared or have no answers.
 */
export function answerPairs(
  evaluations: Pick<Evaluations, 'get' | 'results'>,
  ids: readonly number[],
  count: number,
): AnsweredRow[] {
  const found = ids.map((id) => evaluations.get(id));
  const why = whyIncomparable(
    found.map(({ dataset, rows, rowsDigest }) => ({ dataset, rows, rows_digest: rowsDigest })),
  );
  if (why !== null) throw refusalOf('evaluations', why);
  const pairs = comparedRows(ids.map((id) => ({ results: evaluations.results(id) }))).flatMap(
    ({ line, prompt, results }) => {
      const [first, second] = results.map((result) => result?.answer ?? null);
      return first == null || second == null ? [] : [{ line, request: prompt, first, second }];
    },
  );
  if (pairs.length === 0)
    throw refusalOf(
      'evaluations',
      'They have no answers to compare: both must be completed, of rows with answers',
    );
  return pairs.slice(0, count);
}
