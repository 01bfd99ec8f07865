import type { Ask } from '../../../api/generate.ts';
import type { Asked } from '../../../state/playground/conversation.ts';
import type { Exchange } from '../../../state/playground/exchange.ts';
import { type Asking, ledTo, messagesOf, wholeCalls } from '../../../state/playground/said.ts';
import { type AnswererSide, answererFields, answererName, firstWords } from '../answerer.ts';
import type { Parameters } from '../playground-parameters.ts';
import { samplingFields, systemMessage } from '../playground-parameters.ts';
import { toolsOf } from '../tool-fields.ts';

/** What prompts are answered by, and how. */
export interface Answering {
  readonly sides: readonly AnswererSide[];
  readonly parameters: Parameters;
}

/** Whether some side has the messages before a prompt sent with it. */
export const remembers = ({ sides, parameters }: Answering): boolean =>
  parameters.memory && sides.some(({ facts }) => facts?.hasChatTemplate);

/** Whether answers may call tools: compared ones may if all can. */
export const takesTools = ({ sides }: Pick<Answering, 'sides'>): boolean =>
  sides.every(({ facts }) => facts?.hasChatTemplate && facts.toolsFault === null);

/** The exchanges that are sent with what asks after them. */
export const sentWith = (
  answering: Answering,
  before: readonly Exchange[],
  asking: Asking,
): readonly Exchange[] => (remembers(answering) ? before : ledTo(before, asking));

/** Whether what answers now gave the answers of an exchange. */
export function isAnsweredBy(exchange: Exchange, sides: Answering['sides']): boolean {
  const names = sides.map(({ facts, answerer }) => facts && answererName(facts, answerer));
  return (
    exchange.sides.length === names.length && exchange.sides.every(({ name }, index) => name === names[index])
  );
}

/** The requests for an answer, as far as the models are known. @param before the exchanges before it. */
export function requestsFor(answering: Answering, before: readonly Exchange[], asking: Asking): Asked[] {
  const { sides, parameters } = answering;
  const sent = sentWith(answering, before, asking);
  return sides.flatMap(({ answerer, facts }, side) => {
    if (facts === null) return [];
    const converses = facts.hasChatTemplate;
    const answerOf = (exchange: Exchange, hasResults: boolean) => {
      // Results are those of the first side's calls.
      const one = exchange.sides[hasResults ? 0 : side] ?? exchange.sides[0];
      const isSaid = one !== undefined && one.error === null && !one.busy;
      return isSaid ? { text: one.text, reasoning: one.reasoning, calls: wholeCalls(one) } : null;
    };
    const ask: Ask = {
      ...answererFields(facts, answerer),
      messages: [
        ...(converses ? systemMessage(parameters) : []),
        ...messagesOf(converses ? sent : [], asking, answerOf),
      ],
      ...(takesTools(answering) ? toolsOf(parameters, asking) : {}),
      ...samplingFields(parameters),
    };
    return [{ name: answererName(facts, answerer), first: firstWords(facts, answerer), ask }];
  });
}
