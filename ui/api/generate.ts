import { send } from './request.ts';
import { service } from './service.ts';

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

export interface Ask {
  readonly modelId: string;
  readonly messages: readonly Message[];
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  /** Answer as the model was before it was trained. */
  readonly asBase: boolean;
}

export interface Answer {
  readonly tokens: number | null;
  readonly generationMs: number | null;
  readonly firstTokenMs: number | null;
}

/**
 * Asks a model; the text comes by `onText`, piece by piece, or at once from the base model.
 * @throws ServiceError, or the reason of `signal` when it was aborted.
 */
export async function generate(
  ask: Ask,
  onText: (delta: string) => void,
  signal: AbortSignal,
): Promise<Answer> {
  if (!ask.asBase) return stream(ask, onText, signal);
  const answer = await service.generateAsBase(
    {
      model_id: ask.modelId,
      prompt: ask.messages.at(-1)?.content ?? '',
      max_length: ask.maxTokens,
      temperature: ask.temperature,
      top_p: ask.topP,
    },
    signal,
  );
  onText(answer.generated_text);
  return { tokens: answer.tokens_generated, generationMs: answer.generation_time_ms, firstTokenMs: null };
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly usage?: { readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: string };
}

async function stream(ask: Ask, onText: (delta: string) => void, signal: AbortSignal): Promise<Answer> {
  const began = performance.now();
  const response = await send('/v1/chat/completions', {
    method: 'POST',
    body: {
      model: ask.modelId,
      messages: ask.messages,
      max_tokens: ask.maxTokens,
      temperature: ask.temperature,
      top_p: ask.topP,
      stream: true,
      stream_options: { include_usage: true },
    },
    signal,
  });
  let firstTokenMs: number | null = null;
  let tokens: number | null = null;
  for await (const data of events(response)) {
    if (data === '[DONE]') break;
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error !== undefined) throw new Error(chunk.error.message ?? 'The generation failed.');
    const text = chunk.choices?.[0]?.delta?.content;
    if (text) {
      firstTokenMs ??= performance.now() - began;
      onText(text);
    }
    tokens = chunk.usage?.completion_tokens ?? tokens;
  }
  return { tokens, generationMs: performance.now() - began, firstTokenMs };
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
