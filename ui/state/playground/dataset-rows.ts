import type { StoredChat } from '../../api/types.ts';
import type { Exchange, Side } from './exchange.ts';
import { answerMessage, messagesOf, wholeCalls } from './said.ts';

/** The shapes that an answer can become a row of. */
export const answerShapes = ['messages', 'input-output', 'question-answer', 'preference'] as const;
export type AnswerShape = (typeof answerShapes)[number];

/** What the answer should have been, or else what it is. */
const wanted = ({ correction, text }: Side): string => (correction ?? text).trim();

/** An answer as rows have it; a correction takes the place of its calls. */
const saidOf = (side: Side) => ({ text: wanted(side), calls: side.correction ? [] : wholeCalls(side) });

/**
 * An answer as a row of a dataset; `null` where it cannot be one of that shape.
 * @param before the exchanges that were sent with its prompt.
 * @param tools those that it could call.
 * @param index which of the answers of `exchange`, and of those before, as far as they have it.
 */
export function rowOf(
  shape: AnswerShape,
  before: readonly Exchange[],
  exchange: Exchange,
  index: number,
  tools: StoredChat['tools'] = null,
): Readonly<Record<string, unknown>> | null {
  const { system, prompt, results, sides } = exchange;
  const side = sides[index];
  if (side === undefined) return null;
  const said = saidOf(side);
  const isPlain = said.calls.length === 0 && results.length === 0;
  if ((said.text === '' && said.calls.length === 0) || (shape !== 'messages' && !isPlain)) return null;
  switch (shape) {
    case 'input-output':
      return { input: prompt, output: wanted(side) };
    case 'question-answer': {
      const at = prompt.lastIndexOf('\n\n');
      const answer = wanted(side);
      return at < 0 ? null : { context: prompt.slice(0, at), question: prompt.slice(at + 2), answer };
    }
    case 'preference':
      return side.correction && side.correction.trim() !== side.text.trim() && side.text.trim() !== ''
        ? { prompt, chosen: side.correction.trim(), rejected: side.text.trim() }
        : null;
    default: {
      const answerOf = (earlier: Exchange) => {
        const one = earlier.sides[index] ?? earlier.sides[0];
        return one === undefined ? null : saidOf(one);
      };
      const messages = [
        ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
        ...messagesOf(before, exchange, answerOf),
        answerMessage(said),
      ];
      return tools?.length ? { messages, tools } : { messages };
    }
  }
}
