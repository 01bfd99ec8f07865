import { createNearTexts } from '../../traffic/near-texts.ts';
import { comparedText, type RowKind, type WrittenRow } from './row-kinds.ts';

/** Rows that are kept, among which those are found that say nearly the same. */
export interface KnownRows {
  add(row: WrittenRow): void;
  has(row: WrittenRow): boolean;
}

/** The question of a row without case, punctuation and white space of any length. */
const questionOf = ({ input, prompt }: WrittenRow) =>
  String(input ?? prompt)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

export function createKnownRows(kind: RowKind): KnownRows {
  const near = createNearTexts();
  const questions = new Set<string>();
  return {
    add(row) {
      const text = comparedText(kind, row);
      if (text === null) return;
      questions.add(questionOf(row));
      near.add(text);
    },
    has(row) {
      const text = comparedText(kind, row);
      if (text === null) return false;
      // A question has many wrong answers.
      return (kind !== 'wrong-answer' && questions.has(questionOf(row))) || near.find(text) !== null;
    },
  };
}
