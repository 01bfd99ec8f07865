import type { Playground, PlaygroundRequest } from '../../../domain/playground/playground.ts';
import { asAppError } from '../../../errors.ts';
import { createEventStream } from '../../../http/event-stream.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { errorBody, namingInput } from '../errors.ts';
import { createAnswerItems } from './answer-items.ts';
import { endedResponse } from './present-response.ts';
import type { Response } from './schemas.ts';

/**
 * Responds with an answer, in full or as server-sent events.
 * @param begun the response without its answer.
 * @param keep gets the response once it is complete, unless the client has left.
 * @returns the body, or `undefined` if it was streamed.
 */
export async function respond(
  playground: Playground,
  exchange: Exchange,
  request: PlaygroundRequest,
  begun: Response,
  isStream: boolean,
  keep: (response: Response) => void,
): Promise<Response | undefined> {
  const events = createEventStream(exchange);
  let sequence = 0;
  const emit = (type: string, fields: object) => {
    if (!isStream) return;
    events.send(JSON.stringify({ type, sequence_number: sequence, ...fields }), type);
    sequence += 1;
  };
  const begin = () => {
    if (!isStream || events.isOpen) return;
    emit('response.created', { response: begun });
    emit('response.in_progress', { response: begun });
  };
  const answer = createAnswerItems(emit);
  try {
    const result = await playground.generate(request, {
      signal: exchange.signal,
      onText: (...parts) => {
        begin();
        answer.push(...parts);
      },
    });
    begin();
    answer.end(result.finishReason === 'length');
    const response = endedResponse(begun, [...answer.output], result);
    if (!exchange.aborted) keep(response);
    if (!isStream) return response;
    emit(`response.${response.status}`, { response });
  } catch (thrown) {
    const error = namingInput(thrown, 'input');
    if (!events.isOpen) throw error;
    const { code, message, param } = errorBody(exchange.shown(asAppError(error))).error;
    emit('error', { code, message, param });
    const failed = { code: code ?? 'server_error', message };
    emit('response.failed', {
      response: { ...begun, status: 'failed', error: failed, output: answer.output },
    });
  }
  await events.end();
  return undefined;
}
