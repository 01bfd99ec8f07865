import type { RowShape } from '../../../contract/rows.ts';

/** The fields that are learned; of a conversation, the messages of the assistant are. */
export const answerFields: Readonly<Record<RowShape, readonly string[]>> = {
  'input-output': ['output'],
  'question-answer': ['answer'],
  preference: ['chosen', 'rejected'],
  messages: [],
  text: ['text'],
  prompt: [],
};
