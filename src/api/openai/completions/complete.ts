import { randomUUID } from 'node:crypto';
import { jsonOf } from '../../../domain/playground/calls/json-value.ts';
import type {
  CallDelta,
  OnAnswer,
  Playground,
  PlaygroundAnswer,
  PlaygroundRequest,
  TokenChoice,
} from '../../../domain/playground/playground.ts';
import { asAppError } from '../../../errors.ts';
import { createEventStream } from '../../../http/event-stream.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { errorBody, namingInput } from '../errors.ts';
import { generateTogether, repeated } from './generate-together.ts';
import { createTextLogprobs, presentChatLogprobs } from './logprobs.ts';

/** How one kind of completion formats full responses and chunks; `L` are its log-probabilities. */
export interface Spelling<C extends object, L extends object> {
  readonly idPrefix: string;
  readonly object: string;
  readonly pieceObject: string;
  /** The field of the request that is the prompt. */
  readonly input: string;
  /** The choice of a full response. */
  whole(answer: Pick<PlaygroundAnswer, 'text' | 'reasoning' | 'calls'>): C;
  /** The choice of a chunk; the first one may have more fields. */
  piece(text: string, first: boolean, reasoning: string, calls: readonly CallDelta[]): object;
  /** What presents the tokens of one answer, in one or several parts. */
  createLogprobs(): (tokens: readonly TokenChoice[]) => L;
}

export const chatSpelling: Spelling<
  {
    message: {
      role: string;
      content: string | null;
      refusal: null;
      reasoning_content: string | undefined;
      tool_calls:
        | { id: string; type: 'function'; function: { name: string; arguments: string } }[]
        | undefined;
    };
  },
  ReturnType<typeof presentChatLogprobs>
> = {
  idPrefix: 'chatcmpl-',
  object: 'chat.completion',
  pieceObject: 'chat.completion.chunk',
  input: 'messages',
  whole: ({ text, reasoning, calls }) => ({
    message: {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      refusal: null,
      reasoning_content: reasoning ?? undefined,
      tool_calls:
        calls.length === 0
          ? undefined
          : calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
    },
  }),
  piece: (content, first, reasoning, calls) => ({
    delta: {
      role: first ? 'assistant' : undefined,
      reasoning_content: reasoning || undefined,
      content: content === '' && (!first || reasoning !== '' || calls.length > 0) ? undefined : content,
      tool_calls: calls.length === 0 ? undefined : calls.map(presentCall),
    },
  }),
  createLogprobs: () => presentChatLogprobs,
};

const presentCall = ({ index, id, name, arguments: text }: CallDelta) => ({
  index,
  id,
  type: id === undefined ? undefined : ('function' as const),
  function: { name, arguments: text },
});

export const textSpelling: Spelling<{ text: string }, ReturnType<ReturnType<typeof createTextLogprobs>>> = {
  idPrefix: 'cmpl-',
  object: 'text_completion',
  pieceObject: 'text_completion',
  input: 'prompt',
  whole: ({ text }) => ({ text }),
  piece: (text) => ({ text }),
  createLogprobs: createTextLogprobs,
};

/** A full response. */
interface Completion<C extends object, L> {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly (C & {
    readonly index: number;
    readonly logprobs: L | null;
    readonly finish_reason: string;
    readonly stop_reason: string | undefined;
    readonly schema_errors: readonly string[] | undefined;
  })[];
  readonly usage: ReturnType<typeof usageOf>;
  readonly system_fingerprint: string;
}

/** Each prompt counts once, however many of the choices answer it. */
function usageOf(results: readonly PlaygroundAnswer[], choices: number) {
  const promptTokens = results
    .filter((_, index) => index % choices === 0)
    .reduce((sum, result) => sum + result.promptTokens, 0);
  const generatedTokens = results.reduce((sum, result) => sum + result.generatedTokens, 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: generatedTokens,
    total_tokens: promptTokens + generatedTokens,
    // Answers after the first may have kept the prompt of the first.
    prompt_tokens_details: { cached_tokens: Math.min(...results.map(({ cachedTokens }) => cachedTokens)) },
  };
}

/**
 * Whether the same requests get the same answers again at temperature 0. Where a part of a prompt was kept, or others were
 * answered in the same steps, llama.cpp adds the same numbers in another order.
 */
const fingerprintOf = (results: readonly PlaygroundAnswer[]) =>
  results.some(({ cachedTokens, isShared }) => cachedTokens > 0 || isShared) ? 'hone-shared' : 'hone';

/** Whether an answer is calls that can be made: their arguments are JSON. */
const isCall = ({ calls }: PlaygroundAnswer) =>
  calls.length > 0 && calls.every(({ arguments: text }) => jsonOf(text) !== undefined);

const endOf = (answer: PlaygroundAnswer) => ({
  finish_reason: answer.finishReason === 'length' ? 'length' : isCall(answer) ? 'tool_calls' : 'stop',
  stop_reason: answer.stoppedAt,
  schema_errors: answer.schemaErrors,
});

/**
 * Responds with a completion, in full or as server-sent events.
 * @param modelName the model as named in the request, repeated in every object.
 * @param requests one for each prompt.
 * @param count the number of choices of each of them.
 * @param keep gets the full response once it is complete, unless the client has left.
 * @returns the body, or `undefined` if it was streamed.
 */
export async function complete<C extends object, L extends object>(
  playground: Playground,
  exchange: Exchange,
  requests: readonly PlaygroundRequest[],
  modelName: string,
  count: number,
  spelling: Spelling<C, L>,
  stream: { readonly includeUsage: boolean } | null,
  keep?: (completion: Completion<C, L>) => void,
): Promise<Completion<C, L> | undefined> {
  const all = requests.flatMap((request) => repeated(request, count));
  const head = {
    id: `${spelling.idPrefix}${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1000),
    model: modelName,
  };
  const wholeOf = (results: readonly PlaygroundAnswer[]): Completion<C, L> => ({
    ...head,
    object: spelling.object,
    choices: results.map((result, index) => ({
      index,
      ...spelling.whole(result),
      logprobs: result.tokens === undefined ? null : spelling.createLogprobs()(result.tokens),
      ...endOf(result),
    })),
    usage: usageOf(results, count),
    system_fingerprint: fingerprintOf(results),
  });
  if (stream === null) {
    const results = await generateTogether(playground, all, exchange.signal).catch((error) => {
      throw namingInput(error, spelling.input);
    });
    const whole = wholeOf(results);
    if (!exchange.aborted) keep?.(whole);
    return whole;
  }

  const events = createEventStream(exchange);
  const send = (data: object) => events.send(JSON.stringify(data));
  const piece = (choices: object[], usage: object | null) => ({
    ...head,
    object: spelling.pieceObject,
    choices,
    usage: stream.includeUsage ? usage : undefined,
  });
  const answers = all.map((request) => ({
    isRated: request.logprobs != null,
    first: true,
    logprobs: spelling.createLogprobs(),
  }));
  const sendText = (index: number, ...[text, tokens, reasoning, calls]: Parameters<OnAnswer>) => {
    const answer = answers[index] as (typeof answers)[number];
    const logprobs = answer.isRated ? answer.logprobs(tokens) : null;
    send(
      piece(
        [{ index, ...spelling.piece(text, answer.first, reasoning, calls), logprobs, finish_reason: null }],
        null,
      ),
    );
    answer.first = false;
  };
  try {
    const results = await generateTogether(playground, all, exchange.signal, {
      onText: sendText,
      onEnd(index, result) {
        if (answers[index]?.first) sendText(index, '', [], '', []);
        const choice = { ...spelling.piece('', false, '', []), logprobs: null, ...endOf(result) };
        send({ ...piece([{ index, ...choice }], null), system_fingerprint: fingerprintOf([result]) });
      },
    });
    if (stream.includeUsage) send(piece([], usageOf(results, count)));
    events.send('[DONE]');
    if (!exchange.aborted) keep?.(wholeOf(results));
  } catch (thrown) {
    const error = namingInput(thrown, spelling.input);
    if (!events.isOpen) throw error;
    send(errorBody(exchange.shown(asAppError(error))));
  }
  await events.end();
  return undefined;
}
