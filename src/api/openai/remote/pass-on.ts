import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { type RemoteAnswer, remoteKey } from '../../../domain/remote-models/remote-models.ts';
import type { Services } from '../../../domain/services.ts';
import { asAppError } from '../../../errors.ts';
import { createEventStream } from '../../../http/event-stream.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { accept, parseInput } from '../../../http/parsing/parse-input.ts';
import { parseJson } from '../../../http/parsing/parse-json.ts';
import type { SentMessage } from '../completions/messages.ts';
import { createRecorder } from '../completions/record-answer.ts';
import { conversationOf } from '../completions/request.ts';
import { errorBody } from '../errors.ts';
import { type RemoteChatBody, remoteChatBody, remoteChunk, remoteCompletion } from './body.ts';
import { createCollected, keptCompletion } from './kept-completion.ts';

/** What an answer has in place of the other service's: an ID is found again here, and unique whoever answered. */
interface Head {
  readonly id: string;
  readonly model: string;
}

/** @returns the JSON of a text with the head, and as a schema reads it. @throws AppError of the answer for another text. */
function read<S extends v.GenericSchema<unknown, object>>(
  answer: RemoteAnswer,
  schema: S,
  text: string,
  what: string,
  head: Head,
): { readonly shown: object; readonly parsed: v.InferOutput<S> } {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    throw answer.garbage(what, cause);
  }
  if (Object(value).error != null) throw answer.failed(text);
  const parsed = v.safeParse(schema, value);
  if (!parsed.success) throw answer.garbage(what);
  return { shown: { ...(value as object), ...head }, parsed: parsed.output };
}

type Usage = { readonly isWanted: boolean; readonly isShown: boolean };

/** A chunk as the client asked for it; `null` if it has only the usage, for which it did not ask. */
function withoutUsage(chunk: { readonly choices?: readonly unknown[]; readonly usage?: unknown }) {
  if (chunk.choices?.length === 0 && chunk.usage != null) return null;
  const { usage: _, ...rest } = chunk;
  return rest;
}

/**
 * Streams the chunks of an answer. What fails before the first chunk is thrown, and told in the stream after it.
 * @param keep gets an answer that came to its end, unless the client has left.
 */
async function streamed(
  answer: RemoteAnswer,
  exchange: Exchange,
  head: Head,
  usage: Usage,
  keep: ((whole: v.InferOutput<typeof remoteCompletion>) => void) | undefined,
): Promise<undefined> {
  if (!answer.isStream) throw answer.garbage('did not stream its answer');
  const events = createEventStream(exchange);
  const collected = createCollected();
  let isDone = false;
  try {
    for await (const event of answer.events()) {
      if (event.trim() === '[DONE]') {
        isDone = true;
        break;
      }
      const { shown, parsed } = read(
        answer,
        remoteChunk,
        event,
        'streamed what is no chunk of an answer',
        head,
      );
      // Without a recording, nothing of an answer stays here.
      if (keep !== undefined) collected.add(parsed);
      const chunk = usage.isWanted && !usage.isShown ? withoutUsage(shown) : shown;
      if (chunk !== null) events.send(JSON.stringify(chunk));
      await events.taken();
    }
    if (!isDone) throw answer.failed('');
    events.send('[DONE]');
    if (!exchange.aborted) keep?.(collected.whole());
  } catch (thrown) {
    if (!events.isOpen) throw thrown;
    events.send(JSON.stringify(errorBody(exchange.shown(asAppError(thrown)))));
  }
  await events.end();
  return undefined;
}

/**
 * What passes chat requests on that name a model of another service. All fields go on as they came but `store` and
 * `metadata`, which are for this service. The answer comes back as it is, with an ID of this service and the model as
 * the request named it.
 */
export function createPassOn(
  services: Pick<Services, 'access' | 'accessKeys' | 'modelReferences' | 'remoteModels' | 'traffic'>,
) {
  const { modelReferences, remoteModels } = services;
  const record = createRecorder(services);

  return (value: unknown, exchange: Exchange): Promise<object | undefined> | null => {
    const { model: name, messages: said } = Object(value) as Readonly<Record<string, unknown>>;
    if (typeof name !== 'string') return null;
    const conversation = conversationOf(Array.isArray(said) ? said.map(Object) : []);
    const remote = modelReferences.remoteOf(name, conversation);
    if (remote === null) return null;
    const body = accept(parseInput(remoteChatBody, value, 'body')) as RemoteChatBody;
    const created = Math.floor(Date.now() / 1000);
    const head: Head = { id: `chatcmpl-${randomUUID().replaceAll('-', '')}`, model: name };
    const { messages } = body;
    const asked = { ...body, messages: messages as readonly object[] as readonly SentMessage[] };
    const keepWhole = record(asked, exchange, remoteKey(remote));
    const keep =
      keepWhole === undefined
        ? undefined
        : (whole: v.InferOutput<typeof remoteCompletion>) =>
            keepWhole(keptCompletion({ ...head, created }, whole));

    const { store: _, metadata: __, ...sent } = value as Record<string, unknown>;
    const isStream = body.stream === true;
    // A kept answer has its tokens, which a stream tells only when it is asked to.
    const usage = {
      isWanted: isStream && keep !== undefined,
      isShown: body.stream_options?.include_usage === true,
    };
    const options = usage.isWanted
      ? { stream_options: { ...body.stream_options, include_usage: true } }
      : undefined;
    return remoteModels.ask(
      remote,
      '/chat/completions',
      { ...sent, ...options, model: remote.model },
      exchange.signal,
      async (answer) => {
        if (isStream) return streamed(answer, exchange, head, usage, keep);
        const text = await answer.text();
        const what = 'answered with what is no chat completion';
        const { shown, parsed } = read(answer, remoteCompletion, text, what, head);
        if (!exchange.aborted) keep?.(parsed);
        return shown;
      },
    );
  };
}
