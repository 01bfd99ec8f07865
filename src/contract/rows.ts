/**
 * The row shapes for training, with the required fields of each: strings, but for `messages`, a conversation, and `label`,
 * true or false. A `prompt` may be a conversation, too, and each answer of a preference a list of one message.
 */
export const rowShapes = {
  'input-output': ['input', 'output'],
  'question-answer': ['context', 'question', 'answer'],
  preference: ['prompt', 'chosen', 'rejected'],
  'unpaired-preference': ['prompt', 'completion', 'label'],
  messages: ['messages'],
  text: ['text'],
  // Last: rows of preferences have it, too. Further columns are what graders compare answers with.
  prompt: ['prompt'],
} as const satisfies Record<string, readonly string[]>;

export type RowShape = keyof typeof rowShapes;
export const rowShapeNames = Object.keys(rowShapes) as [RowShape, ...RowShape[]];

/** The roles of a conversation, in OpenAI's format. */
export const messageRoles = ['system', 'user', 'assistant', 'tool'] as const;

/** The minimum number of rows for training (docs/specification.md, Limits). */
export const minimumRows = 10;

/** The names of tools in rows and requests: OpenAI's, and with dots, which many datasets have (`math.hypot`). */
export const toolName = /^[A-Za-z0-9_.-]{1,64}$/;
export const toolNameRule = 'must have 1 to 64 letters, digits, dots, underscores and hyphens';

/** Datasets up to this size are analysed when they are stored, larger ones when their page is first opened. */
export const analysedBytes = 100e6;
