import type { Message } from '../../api/generate.ts';
import type { Call, Exchange, Side } from './exchange.ts';

/** What asks for an answer: a prompt, or the results of the calls before it. */
export type Asking = Pick<Exchange, 'prompt' | 'results'>;

/** A text that answers, with its calls of tools. */
export interface Said {
  readonly text: string;
  readonly reasoning?: string | undefined;
  readonly calls: readonly Call[];
}

/** The calls of an answer that are complete, so that they can be answered. */
export const wholeCalls = ({ calls = [], busy, error, stopped, answer }: Side): readonly Call[] =>
  busy || error !== null || stopped || answer?.isCut ? [] : calls;

const askingMessages = ({ prompt, results }: Asking): Message[] =>
  results.length === 0
    ? [{ role: 'user', content: prompt }]
    : results.map(({ call_id, content }) => ({ role: 'tool', tool_call_id: call_id, content }));

export const answerMessage = ({ text, reasoning, calls }: Said): Message => ({
  role: 'assistant',
  content: text,
  reasoning_content: reasoning || undefined,
  tool_calls:
    calls.length === 0
      ? undefined
      : calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
});

/**
 * Exchanges as messages, and what asks after them. Those without an answer are left out, and so are calls without results.
 * @param answerOf their answers; some have results of their calls after them.
 */
export function messagesOf(
  before: readonly Exchange[],
  asking: Asking,
  answerOf: (exchange: Exchange, hasResults: boolean) => Said | null,
): Message[] {
  const messages = askingMessages(asking);
  let hasResults = asking.results.length > 0;
  for (const exchange of before.toReversed()) {
    const said = answerOf(exchange, hasResults);
    const calls = hasResults ? (said?.calls ?? []) : [];
    const isKept = said !== null && (said.text !== '' || calls.length > 0);
    if (isKept) messages.unshift(...askingMessages(exchange), answerMessage({ ...said, calls }));
    hasResults = isKept && exchange.results.length > 0;
  }
  return messages;
}

/** Of the exchanges before what asks, those that are sent where each prompt stands alone: what led to the calls. */
export const ledTo = (before: readonly Exchange[], { results }: Asking): readonly Exchange[] =>
  results.length === 0 ? [] : before.slice(before.findLastIndex((one) => one.results.length === 0));
