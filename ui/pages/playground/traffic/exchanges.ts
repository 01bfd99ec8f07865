import type { KeptAnswer } from '../../../api/types.ts';
import type { Exchange, Result, Side } from '../../../state/playground/exchange.ts';

type Message = KeptAnswer['answer'];

const sideOf = (name: string, { content, reasoning, calls }: Message): Side => ({
  name,
  first: '',
  text: content,
  reasoning: reasoning ?? undefined,
  calls,
  busy: false,
  answer: null,
  error: null,
  stopped: false,
});

/** A conversation as the playground shows it. */
export interface Conversation {
  readonly system: string;
  readonly exchanges: readonly Exchange[];
}

/** The conversation of a kept answer; its last exchange ends with the answer. */
export function conversationOf(kept: KeptAnswer): Conversation {
  const { model, messages, answer, answer_tokens: tokens, prompt_tokens: promptTokens } = kept;
  const exchanges: Exchange[] = [];
  const system: string[] = [];
  const names = new Map<string, string>();
  let prompts: string[] = [];
  let results: Result[] = [];
  const add = (sides: readonly Side[]) => {
    const id = String(exchanges.length);
    const asked = { system: '', prompt: prompts.join('\n\n'), results };
    exchanges.push({ id, after: '', ...asked, sides });
    prompts = [];
    results = [];
  };
  for (const message of messages) {
    const { role, content, calls, call_id: callId } = message;
    if (role === 'system') system.push(content);
    else if (role === 'tool')
      results.push({ call_id: callId ?? '', name: names.get(callId ?? '') ?? 'a function', content });
    else if (role === 'assistant') {
      for (const { id, name } of calls) names.set(id, name);
      add([sideOf(model, message)]);
    } else {
      // What a user says right after the results of calls stands below them.
      if (results.length > 0) add([]);
      prompts.push(content);
    }
  }
  add([
    {
      ...sideOf(model, answer),
      answer: {
        tokens,
        promptTokens,
        generationMs: null,
        firstTokenMs: null,
        isCut: kept.finish_reason === 'length',
      },
      rating: kept.rating === null ? null : kept.rating === 'up' ? 'good' : 'bad',
      correction: kept.correction,
    },
  ]);
  return { system: system.join('\n\n'), exchanges };
}
