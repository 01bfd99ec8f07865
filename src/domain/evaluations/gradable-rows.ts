import { missingColumn } from '../../contract/graders/templates.ts';
import type { RowShape } from '../../contract/rows.ts';
import { refusalOf } from '../../faults.ts';
import { isBlank, readLines } from '../datasets/rows/read-lines.ts';
import type { TrainingData } from '../datasets/training-data.ts';

/** Rows without a prompt, and preferences: no answer is generated. */
const unanswered: readonly RowShape[] = ['text', 'preference', 'unpaired-preference'];

/**
 * Sees whether the first `count` rows have every column that graders name.
 * @throws AppError `invalid` with the first line that lacks one.
 */
export async function requireGradable(
  graders: Readonly<Record<string, unknown>>,
  { name, path, shape }: TrainingData,
  count: number,
): Promise<void> {
  if (Object.keys(graders).length === 0) return;
  if (unanswered.includes(shape))
    throw refusalOf(
      'graders',
      `Graders score answers, and rows of the shape ${shape} are not answered. Choose another dataset`,
    );
  let line = 0;
  let left = count;
  for await (const read of readLines(path, Number.POSITIVE_INFINITY)) {
    line += 1;
    if (isBlank(read)) continue;
    const row = JSON.parse(read.text);
    for (const [grader, definition] of Object.entries(graders)) {
      const fault = missingColumn(definition, row);
      if (fault !== null)
        throw refusalOf(
          'graders',
          `Line ${line} of ${name}: the grader ${grader} ${fault}. Add the column, or change the grader`,
        );
    }
    left -= 1;
    if (left === 0) return;
  }
}
