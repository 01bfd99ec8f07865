import type { Settings } from '../../../contract/settings.ts';

/** Of a log-probability as float32, and of the number of a token (trainer/training/teaching/kept.py). */
const bytesOfNumber = 4;
/** Bytes of a row's text for each of its tokens: about as many in English, fewer in other languages. */
const bytesPerToken = 4;

/**
 * What the answers of a teacher take on the disk until the training ends, about: prompts are counted as if they were
 * learned, too. The trainer counts the tokens before it asks.
 * @param bytes those of all rows.
 * @param vocabulary the tokens of the model; `null` if unknown.
 */
export function teacherBytes(
  { teacher_top_k: kept }: Pick<Settings, 'teacher_top_k'>,
  bytes: number,
  vocabulary: number | null,
): number {
  const whole = vocabulary !== null && kept >= vocabulary;
  return Math.round((bytes / bytesPerToken) * bytesOfNumber * (whole ? vocabulary : 2 * kept + 1));
}
