/** The row shapes for training, with the required fields of each (all strings). */
export const rowShapes = {
  'input-output': ['input', 'output'],
  'question-answer': ['context', 'question', 'answer'],
  preference: ['prompt', 'chosen', 'rejected'],
} as const satisfies Record<string, readonly string[]>;

export type RowShape = keyof typeof rowShapes;
export const rowShapeNames = Object.keys(rowShapes) as [RowShape, ...RowShape[]];

/** The minimum number of rows for training (docs/specification.md, Limits). */
export const minimumRows = 10;
