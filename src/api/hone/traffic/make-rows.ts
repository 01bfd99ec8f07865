import type * as v from 'valibot';
import type { Services } from '../../../domain/services.ts';
import { type AnswerRows, rowsOfAnswers } from '../../../domain/traffic/answer-rows.ts';
import { type LikeRows, readValidationRows } from '../../../domain/traffic/compared-rows.ts';
import type { alike, rowsBody } from './schemas.ts';

/**
 * Makes the rows that a request asks for.
 * @param isOver whether nobody waits for them any longer.
 * @throws AppError `not_found` without the validation dataset.
 */
export async function makeRows(
  { datasets, traffic }: Pick<Services, 'datasets' | 'traffic'>,
  body: v.InferOutput<typeof rowsBody>,
  isOver: () => boolean,
): Promise<AnswerRows> {
  const { kind, near_duplicates: near, validation_dataset: name, overlap, ...filter } = body;
  const validation = name === undefined ? null : await readValidationRows(await datasets.file(name), isOver);
  const kept = { keepsNear: near === 'keep', keepsOverlap: overlap === 'keep' };
  return rowsOfAnswers(traffic, kind, filter, isOver, { validation, ...kept });
}

type Alike = { readonly [F in keyof typeof alike]: v.InferOutput<(typeof alike)[F]> };

const presentLike = ({ rows, comparedRows, examples }: LikeRows) => ({
  rows,
  compared_rows: comparedRows,
  examples: examples.map(({ completionId, ...example }) => ({ completion_id: completionId, ...example })),
});

/** What rows are like. */
export const presentAlike = ({ near, overlap, isCapped }: AnswerRows): Alike => ({
  near_duplicates: presentLike(near),
  overlap:
    overlap === null
      ? null
      : { dataset: overlap.dataset, ...presentLike(overlap), complete: overlap.isWhole },
  capped: isCapped,
});
