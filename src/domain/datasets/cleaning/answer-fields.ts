import type { RowShape } from '../../../contract/rows.ts';

/** The fields that are learned; of a conversation, the messages of the assistant are. */
export const answerFields: Readonly<Record<RowShape, readonly string[]>> = {
  'input-output': ['output'],
  'question-answer': ['answer'],
  preference: ['chosen', 'rejected'],
  'unpaired-preference': ['completion'],
  messages: [],
  text: ['text'],
  prompt: [],
};
