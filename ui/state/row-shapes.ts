import { type Draft, preferenceStrategies } from './draft.ts';

/** The shapes of rows, and their fields; the tests hold them to the service's own. */
export const rowShapes: Readonly<Record<string, readonly string[]>> = {
  'input-output': ['input', 'output'],
  'question-answer': ['context', 'question', 'answer'],
  preference: ['prompt', 'chosen', 'rejected'],
};

/** The shape that rows must have for a task and a strategy. */
export function shapeFor({ task, strategy }: Pick<Draft, 'task' | 'strategy'>): string {
  if (preferenceStrategies.includes(strategy)) return 'preference';
  return task === 'extractive-question-answering' ? 'question-answer' : 'input-output';
}

/** The fields of a shape, as words. */
export const shapeFields = (shape: string) => rowShapes[shape]?.join(', ') ?? shape;
