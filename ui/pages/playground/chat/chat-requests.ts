import type { Ask } from '../../../api/generate.ts';
import type { Asked, Conversation } from '../../../state/playground/conversation.ts';
import type { Exchange } from '../../../state/playground/exchange.ts';
import { type AnswererSide, answererFields, answererName, firstWords } from '../answerer.ts';
import type { Parameters } from '../playground-parameters.ts';
import { samplingFields, systemMessage } from '../playground-parameters.ts';

/** What prompts are answered by, and how. */
export interface Answering {
  readonly sides: readonly AnswererSide[];
  readonly parameters: Parameters;
}

/** Whether some side has the messages before a prompt sent with it. */
export const remembers = ({ sides, parameters }: Answering): boolean =>
  parameters.memory && sides.some(({ facts }) => facts?.hasChatTemplate);

/** Whether what answers now gave the answers of an exchange. */
export function isAnsweredBy(exchange: Exchange, sides: Answering['sides']): boolean {
  const names = sides.map(({ facts, answerer }) => facts && answererName(facts, answerer));
  return (
    exchange.sides.length === names.length && exchange.sides.every(({ name }, index) => name === names[index])
  );
}

/** The requests for a prompt, as far as the models are known. @param count how many exchanges are before it. */
export function requestsFor(
  { sides, parameters }: Answering,
  talk: Conversation,
  prompt: string,
  count: number,
): Asked[] {
  return sides.flatMap(({ answerer, facts }, side) => {
    if (facts === null) return [];
    const converses = facts.hasChatTemplate;
    const ask: Ask = {
      ...answererFields(facts, answerer),
      messages: [
        ...(converses ? systemMessage(parameters) : []),
        ...(converses && parameters.memory ? talk.turns(side, count) : []),
        { role: 'user', content: prompt },
      ],
      ...samplingFields(parameters),
    };
    return [{ name: answererName(facts, answerer), first: firstWords(facts, answerer), ask }];
  });
}
