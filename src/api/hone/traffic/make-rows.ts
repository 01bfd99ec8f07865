import type * as v from 'valibot';
import type { Services } from '../../../domain/services.ts';
import { type AnswerRows, rowsOfAnswers } from '../../../domain/traffic/answer-rows.ts';
import { type LikeRows, readValidationRows } from '../../../domain/traffic/compared-rows.ts';
import type { Exchange } from '../../../http/exchange.ts';
import type { alike, masked, rowsBody } from './schemas.ts';

/** Of an example of masking. */
const shownCharacters = 300;

/** The rows that were made, and what was masked in them. */
interface MadeRows extends AnswerRows {
  readonly masked: v.InferOutput<typeof masked>;
}

/**
 * Makes the rows that a request asks for.
 * @param mostMasked masks so many at most, for a look at what would be masked.
 * @throws AppError `not_found` without the validation dataset, or `conflict` if they cannot be masked.
 */
export async function makeRows(
  { datasets, masking, traffic }: Pick<Services, 'datasets' | 'masking' | 'traffic'>,
  body: v.InferOutput<typeof rowsBody>,
  { signal }: Pick<Exchange, 'signal'>,
  mostMasked = Number.POSITIVE_INFINITY,
): Promise<MadeRows> {
  const { kind, near_duplicates: near, validation_dataset: name, overlap, mask, ...filter } = body;
  const isOver = () => signal.aborted;
  const validation = name === undefined ? null : await readValidationRows(await datasets.file(name), isOver);
  const kept = { keepsNear: near === 'keep', keepsOverlap: overlap === 'keep' };
  const made = await rowsOfAnswers(traffic, kind, filter, isOver, { validation, ...kept });
  if (!mask) return { ...made, masked: null };
  const looked = made.rows.slice(0, mostMasked);
  const { rows, found, names, examples } = await masking.mask(looked, signal);
  const shown = examples.map(({ before, after }) => ({
    before: before.slice(0, shownCharacters),
    after: after.slice(0, shownCharacters),
  }));
  return {
    ...made,
    rows: [...rows, ...made.rows.slice(rows.length)],
    masked: { rows: rows.length, found, names, examples: shown },
  };
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
