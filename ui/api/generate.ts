import { open } from './call.ts';
import type { Body, StreamEvent } from './routes.ts';

const route = 'POST /v1/chat/completions';
type Delta = Exclude<StreamEvent<typeof route>, { error: unknown }>['choices'][number]['delta'];
type SentMessage = Body<typeof route>['messages'][number];

export type Message = Pick<SentMessage, 'reasoning_content' | 'tool_calls' | 'tool_call_id'> & {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
};

/** What is new of a call of a tool: first its ID and name, then the text of its arguments. */
export type CallPart = NonNullable<Delta['tool_calls']>[number];

/** A request for an answer, which is streamed. */
export type Ask = Omit<Body<typeof route>, 'stream' | 'stream_options' | 'messages'> & {
  readonly messages: readonly Message[];
};

export interface Answer {
  readonly tokens: number | null;
  /** Tokens of all that was sent; `null` in chats of earlier versions. */
  readonly promptTokens: number | null;
  readonly generationMs: number | null;
  readonly firstTokenMs: number | null;
  /** Whether the answer ended at the limit of its tokens; absent in chats of earlier versions. */
  readonly isCut?: boolean;
  /** The stop string that ended the answer; absent where none did. */
  readonly stoppedAt?: string | undefined;
}

/**
 * Generates text; `onText` receives it in chunks, and those of the reasoning before it and of its calls.
 * @throws ServiceError, or the reason of `signal` if aborted.
 */
export async function generate(
  ask: Ask,
  onText: (delta: string, reasoning: string, calls: readonly CallPart[]) => void,
  signal: AbortSignal,
): Promise<Answer> {
  const began = performance.now();
  const response = await open(route, {
    body: {
      ...ask,
      messages: [...ask.messages],
      stream: true,
      stream_options: { include_usage: true },
    },
    signal,
  });
  let firstTokenMs: number | null = null;
  let tokens: number | null = null;
  let promptTokens: number | null = null;
  let isCut = false;
  let stoppedAt: string | undefined;
  for await (const data of events(response)) {
    if (data === '[DONE]') break;
    const event = JSON.parse(data) as StreamEvent<typeof route>;
    if ('error' in event) throw new Error(event.error.message);
    const { content, reasoning_content: reasoning, tool_calls: calls } = event.choices[0]?.delta ?? {};
    if (content || reasoning || calls) {
      firstTokenMs ??= performance.now() - began;
      onText(content ?? '', reasoning ?? '', calls ?? []);
    }
    isCut ||= event.choices[0]?.finish_reason === 'length';
    stoppedAt = event.choices[0]?.stop_reason ?? stoppedAt;
    tokens = event.usage?.completion_tokens ?? tokens;
    promptTokens = event.usage?.prompt_tokens ?? promptTokens;
  }
  const generationMs = performance.now() - began;
  return { tokens, promptTokens, generationMs, firstTokenMs, isCut, stoppedAt };
}

/** The data of each server-sent event of a response. */
async function* events(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r?\n/);
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim();
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
