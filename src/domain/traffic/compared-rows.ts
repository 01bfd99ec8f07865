import { setImmediate } from 'node:timers/promises';
import { readLines } from '../datasets/rows/read-lines.ts';
import { createNearTexts, type NearTexts } from './near-texts.ts';
import { rowWords } from './row-words.ts';

/** A row that is like another one: the beginnings of what is compared of both. */
export interface LikeExample {
  /** The answer that the row is of. */
  readonly completionId: string;
  readonly text: string;
  readonly like: string;
  readonly similarity: number;
}

/** Rows that are like others. */
export interface LikeRows {
  readonly rows: number;
  /** How many were compared: memory is bounded. */
  readonly comparedRows: number;
  readonly examples: readonly LikeExample[];
}

/** The rows of a dataset that models are measured on. */
export interface ValidationRows {
  readonly name: string;
  /** What its rows ask. */
  readonly texts: NearTexts;
  /** As many of its rows were read. */
  readonly comparedRows: number;
  readonly isWhole: boolean;
}

const mostExamples = 3;
const exampleCharacters = 300;
/** Longer rows of a validation dataset are not compared. */
const mostLineBytes = 2 ** 20;
const rowsAtATime = 200;

/** Reads what the rows of a dataset ask. @param isOver whether nobody waits for it any longer. */
export async function readValidationRows(
  { name, path }: { readonly name: string; readonly path: string },
  isOver: () => boolean,
): Promise<ValidationRows> {
  const texts = createNearTexts();
  let comparedRows = 0;
  let isWhole = true;
  for await (const { text, isCut } of readLines(path, mostLineBytes)) {
    const row = isCut ? null : rowOf(text);
    if (isCut) isWhole = false;
    if (row === null) continue;
    const { asked, all } = rowWords(row);
    if (!texts.add(asked || all)) {
      isWhole = false;
      break;
    }
    comparedRows += 1;
    if (comparedRows % rowsAtATime === 0) {
      if (isOver()) break;
      await setImmediate();
    }
  }
  return { name, texts, comparedRows, isWhole };
}

/** A line's row; `null` if it is none. */
function rowOf(text: string): Record<string, unknown> | null {
  try {
    const row: unknown = JSON.parse(text);
    return typeof row === 'object' && row !== null ? (row as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Counts rows that are like others, with examples. */
function createLikeRows() {
  const examples: LikeExample[] = [];
  let rows = 0;
  return {
    count(example: LikeExample) {
      rows += 1;
      if (examples.length < mostExamples) {
        const [text, like] = [example.text, example.like].map((one) =>
          one.trim().slice(0, exampleCharacters),
        );
        examples.push({ ...example, text: text as string, like: like as string });
      }
    },
    found: (comparedRows: number): LikeRows => ({ rows, comparedRows, examples }),
  };
}

/** Compares rows with those before and with a validation dataset's. */
export function createRowComparison(validation: ValidationRows | null) {
  const earlier = createNearTexts();
  const near = createLikeRows();
  const overlap = createLikeRows();
  let compared = 0;
  return {
    /** Whether a row asks what one of the validation dataset does. */
    isInValidation(completionId: string, row: Record<string, unknown>): boolean {
      const { asked, all } = rowWords(row);
      const found = validation?.texts.find(asked || all) ?? null;
      if (found === null) return false;
      overlap.count({ completionId, text: asked || all, like: found.text, similarity: found.similarity });
      return true;
    },
    /** Whether a row is nearly the same as one before. */
    isNear(completionId: string, row: Record<string, unknown>): boolean {
      const { all } = rowWords(row);
      const found = earlier.find(all);
      if (found === null) {
        if (earlier.add(all)) compared += 1;
        return false;
      }
      compared += 1;
      near.count({ completionId, text: all, like: found.text, similarity: found.similarity });
      return true;
    },
    found: () => ({
      near: near.found(compared),
      overlap:
        validation === null
          ? null
          : {
              ...overlap.found(validation.comparedRows),
              dataset: validation.name,
              isWhole: validation.isWhole,
            },
    }),
  };
}
