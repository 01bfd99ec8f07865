import { randomBytes } from 'node:crypto';
import { jsonOf } from '../../domain/playground/calls/json-value.ts';
import type { Playground, PlaygroundAnswer, PlaygroundRequest } from '../../domain/playground/playground.ts';
import { asAppError } from '../../errors.ts';
import { createEventStream } from '../../http/event-stream.ts';
import type { Exchange } from '../../http/exchange.ts';
import { createAnswerBlocks } from './answer-blocks.ts';
import { errorBody } from './errors.ts';
import type { Message } from './schemas.ts';

function endOf(
  answer: PlaygroundAnswer,
): Pick<Message, 'stop_reason' | 'stop_sequence' | 'schema_errors' | 'usage'> {
  const { finishReason, stoppedAt, calls, promptTokens, cachedTokens, generatedTokens } = answer;
  const isCall = calls.length > 0 && calls.every((one) => jsonOf(one.arguments) !== undefined);
  return {
    stop_reason:
      finishReason === 'length'
        ? 'max_tokens'
        : isCall
          ? 'tool_use'
          : stoppedAt === undefined
            ? 'end_turn'
            : 'stop_sequence',
    stop_sequence: stoppedAt ?? null,
    schema_errors: answer.schemaErrors && [...answer.schemaErrors],
    usage: {
      input_tokens: promptTokens - cachedTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cachedTokens,
      output_tokens: generatedTokens,
    },
  };
}

/**
 * Responds with an answer, in full or as server-sent events. How long the prompt is, is told at the end of a stream.
 * @returns the body, or `undefined` if it was streamed.
 */
export async function respond(
  playground: Playground,
  exchange: Exchange,
  request: PlaygroundRequest,
  model: string,
  isStream: boolean,
): Promise<Message | undefined> {
  const events = createEventStream(exchange);
  const emit = (type: string, fields: object) => {
    if (isStream) events.send(JSON.stringify({ type, ...fields }), type);
  };
  const begun: Message = {
    id: `msg_${randomBytes(12).toString('hex')}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 0,
    },
  };
  const begin = () => {
    if (!events.isOpen) emit('message_start', { message: begun });
  };
  const answer = createAnswerBlocks(emit);
  try {
    const result = await playground.generate(request, {
      signal: exchange.signal,
      onText: (...parts) => {
        begin();
        answer.push(...parts);
      },
    });
    begin();
    answer.end();
    const { usage, ...end } = endOf(result);
    if (!isStream) return { ...begun, content: [...answer.content], ...end, usage };
    emit('message_delta', { delta: end, usage });
    emit('message_stop', {});
  } catch (thrown) {
    if (!events.isOpen) throw thrown;
    const { error } = errorBody(exchange.shown(asAppError(thrown)));
    emit('error', { error });
  }
  await events.end();
  return undefined;
}
