import { randomUUID } from 'node:crypto';
import type { GenerateResult, Playground, PlaygroundRequest } from '../../domain/playground/playground.ts';
import { asAppError } from '../../errors.ts';
import type { BodyWriter, Exchange } from '../../http/exchange.ts';
import { errorBody } from './errors.ts';

/** How one kind of completion formats full responses and chunks. */
export interface Spelling<C extends object> {
  readonly idPrefix: string;
  readonly object: string;
  readonly pieceObject: string;
  /** The choice of a full response. */
  whole(text: string): C;
  /** The choice of a chunk; the first one may have more fields. */
  piece(text: string, first: boolean): object;
}

export const chatSpelling: Spelling<{
  message: { role: string; content: string; refusal: null };
  logprobs: null;
}> = {
  idPrefix: 'chatcmpl-',
  object: 'chat.completion',
  pieceObject: 'chat.completion.chunk',
  whole: (content) => ({ message: { role: 'assistant', content, refusal: null }, logprobs: null }),
  piece: (content, first) => ({
    delta: { ...(first ? { role: 'assistant' } : {}), ...(content === '' && !first ? {} : { content }) },
    logprobs: null,
  }),
};

export const textSpelling: Spelling<{ text: string; logprobs: null }> = {
  idPrefix: 'cmpl-',
  object: 'text_completion',
  pieceObject: 'text_completion',
  whole: (text) => ({ text, logprobs: null }),
  piece: (text) => ({ text, logprobs: null }),
};

/** A full response. */
interface Completion<C extends object> {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly (C & { readonly index: number; readonly finish_reason: string })[];
  readonly usage: ReturnType<typeof usageOf>;
}

const usageOf = ({ promptTokens, generatedTokens }: GenerateResult) => ({
  prompt_tokens: promptTokens,
  completion_tokens: generatedTokens,
  total_tokens: promptTokens + generatedTokens,
});

const finishOf = ({ finishReason }: GenerateResult) => (finishReason === 'length' ? 'length' : 'stop');

/**
 * Responds with a completion, in full or as server-sent events.
 * @param modelName the model as named in the request, repeated in every object.
 * @returns the body, or `undefined` if it was streamed.
 */
export async function complete<C extends object>(
  playground: Playground,
  exchange: Exchange,
  request: PlaygroundRequest,
  modelName: string,
  spelling: Spelling<C>,
  stream: { readonly includeUsage: boolean } | null,
): Promise<Completion<C> | undefined> {
  const head = {
    id: `${spelling.idPrefix}${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1000),
    model: modelName,
  };
  if (stream === null) {
    const result = await playground.generate(request, { signal: exchange.signal });
    const choice = { index: 0, ...spelling.whole(result.text), finish_reason: finishOf(result) };
    return { ...head, object: spelling.object, choices: [choice], usage: usageOf(result) };
  }

  let writer: BodyWriter | null = null;
  let written: Promise<unknown> = Promise.resolve();
  const send = (data: object | string) => {
    // Headers are sent with the first chunk, so that an earlier failure still gets a status code.
    writer ??= exchange.stream(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const open = writer;
    const text = `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
    written = written.then(() => open.write(text));
  };
  const piece = (choices: object[], usage: object | null) => ({
    ...head,
    object: spelling.pieceObject,
    choices,
    ...(stream.includeUsage ? { usage } : {}),
  });
  let first = true;
  const sendText = (text: string) => {
    send(piece([{ index: 0, ...spelling.piece(text, first), finish_reason: null }], null));
    first = false;
  };
  try {
    const result = await playground.generate(request, { signal: exchange.signal, onText: sendText });
    if (first) sendText('');
    send(piece([{ index: 0, ...spelling.piece('', false), finish_reason: finishOf(result) }], null));
    if (stream.includeUsage) send(piece([], usageOf(result)));
    send('[DONE]');
  } catch (error) {
    if (writer === null) throw error;
    send(errorBody(exchange.shown(asAppError(error))));
  }
  await written;
  (writer as BodyWriter | null)?.end();
  return undefined;
}
