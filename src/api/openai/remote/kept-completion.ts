import { callsIn, type RemoteChunk, type RemoteCompletion, usageIn } from './body.ts';

/** What a kept answer has of itself, whichever service gave it. */
interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

type Choice = RemoteCompletion['choices'][number];

const keptChoice = ({ index, message, finish_reason: end, logprobs }: Choice) => {
  const { role, content, refusal, reasoning_content: reasoning, tool_calls: called } = message;
  const calls = callsIn(called);
  return {
    index,
    message: {
      role: role ?? 'assistant',
      content: content ?? null,
      refusal: refusal ?? null,
      reasoning_content: reasoning ?? undefined,
      tool_calls: calls.length === 0 ? undefined : calls,
    },
    logprobs: logprobs ?? null,
    finish_reason: end ?? null,
  };
};

/** An answer of another service, as answers are kept. */
export const keptCompletion = (
  head: Head,
  { choices, usage, system_fingerprint: print }: RemoteCompletion,
) => ({
  ...head,
  object: 'chat.completion',
  choices: choices.map(keptChoice),
  usage: usageIn(usage),
  system_fingerprint: typeof print === 'string' ? print : '',
});

interface Call {
  id: string;
  readonly function: { name: string; arguments: string };
}

/** A choice while its parts come. */
function createChoice(index: number) {
  const texts = { content: '', refusal: '', reasoning_content: '' };
  const said = new Set<keyof typeof texts>();
  const calls = new Map<number, Call>();
  const rated: unknown[] = [];
  let finishReason: string | null = null;
  return {
    add({ delta, finish_reason: end, logprobs }: RemoteChunk['choices'][number]): void {
      finishReason = end ?? finishReason;
      for (const one of logprobs?.content ?? []) rated.push(one);
      for (const field of Object.keys(texts) as (keyof typeof texts)[]) {
        const text = delta?.[field];
        if (text == null) continue;
        texts[field] += text;
        said.add(field);
      }
      for (const { index: given, id, function: part } of delta?.tool_calls ?? []) {
        const at = given ?? (id == null ? Math.max(0, calls.size - 1) : calls.size);
        const call = calls.get(at) ?? { id: '', function: { name: '', arguments: '' } };
        calls.set(at, call);
        call.id ||= id ?? '';
        call.function.name += part?.name ?? '';
        call.function.arguments += part?.arguments ?? '';
      }
    },
    whole(): Choice {
      const text = (field: keyof typeof texts) => (said.has(field) ? texts[field] : null);
      return {
        index,
        message: {
          role: 'assistant',
          content: calls.size > 0 && texts.content === '' ? null : text('content'),
          refusal: text('refusal'),
          reasoning_content: text('reasoning_content'),
          tool_calls: [...calls].sort(([a], [b]) => a - b).map(([, call]) => call),
        },
        finish_reason: finishReason,
        logprobs: rated.length === 0 ? null : { content: rated, refusal: null },
      };
    },
  };
}

/** Puts the chunks of a streamed answer together. */
export function createCollected() {
  const choices = new Map<number, ReturnType<typeof createChoice>>();
  let usage: unknown = null;
  let fingerprint: unknown = null;
  return {
    add(chunk: RemoteChunk): void {
      usage = chunk.usage ?? usage;
      fingerprint = chunk.system_fingerprint ?? fingerprint;
      for (const choice of chunk.choices) {
        const found = choices.get(choice.index) ?? createChoice(choice.index);
        choices.set(choice.index, found);
        found.add(choice);
      }
    },
    whole: (): RemoteCompletion => ({
      choices: [...choices].sort(([a], [b]) => a - b).map(([, choice]) => choice.whole()),
      usage,
      system_fingerprint: fingerprint,
    }),
  };
}
