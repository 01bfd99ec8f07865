import type { Exchange, Side } from './exchange.ts';

/** The shapes that an answer can become a row of. */
export const answerShapes = ['messages', 'input-output', 'question-answer', 'preference'] as const;
export type AnswerShape = (typeof answerShapes)[number];

/** What the answer should have been, or else what it is. */
const wanted = ({ correction, text }: Side): string => (correction ?? text).trim();

const turn = (role: string, content: string) => ({ role, content });

/**
 * An answer as a row of a dataset; `null` where it cannot be one of that shape.
 * @param before the exchanges that were sent with its prompt.
 * @param index which of the answers of `exchange`, and of those before, as far as they have it.
 */
export function rowOf(
  shape: AnswerShape,
  before: readonly Exchange[],
  { system, prompt, sides }: Exchange,
  index: number,
): Readonly<Record<string, unknown>> | null {
  const side = sides[index];
  if (side === undefined || wanted(side) === '') return null;
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
      const earlier = before.flatMap((exchange) => {
        const said = exchange.sides[index] ?? exchange.sides[0];
        return said === undefined || wanted(said) === ''
          ? []
          : [turn('user', exchange.prompt), turn('assistant', wanted(said))];
      });
      return {
        messages: [
          ...(system.trim() === '' ? [] : [turn('system', system)]),
          ...earlier,
          turn('user', prompt),
          turn('assistant', wanted(side)),
        ],
      };
    }
  }
}
