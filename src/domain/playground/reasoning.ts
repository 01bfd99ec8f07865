import type { GenerateResult, OnText, TokenChoice } from '../../inference/engine/engine.ts';
import type { Message } from '../../inference/template/message.ts';
import { readThinking } from '../../inference/template/render.ts';
import { createChannelSplit } from './channels.ts';

type Thinking = NonNullable<Awaited<ReturnType<typeof readThinking>>>;

/** Hears an answer as it is generated: what is new of its content, its tokens, and what is new of its reasoning. */
export type OnAnswer = (content: string, tokens: readonly TokenChoice[], reasoning: string) => void;

/** An answer, of which `text` is the content. */
export interface PlaygroundAnswer extends GenerateResult {
  /** What the model wrote before its answer, as its template marks it; `null` if nothing. */
  readonly reasoning: string | null;
}

/** The beginning of an answer; its reasoning is complete if it has content. */
type Begun = Pick<Message, 'content' | 'reasoning_content'>;

/** The parts of an answer as it is generated. */
interface Parts {
  readonly content: string;
  readonly reasoning: string;
}

/**
 * Separates the reasoning that an answer begins with from its content. White space at the ends of the reasoning and
 * before the content is left out, as training does (trainer/data/thinking.py).
 * @param begun whether the prompt has begun the reasoning.
 */
export function createReasoningSplit(
  { open, close }: Pick<Thinking, 'open' | 'close'>,
  begun: boolean,
): { push(text: string): Parts; end(): Parts } {
  let state: 'start' | 'reasoning' | 'gap' | 'content' = 'start';
  /** What cannot be told yet: the beginning of a tag, or white space that may be the end of a part. */
  let held = '';
  let hasReasoning = false;

  function push(text: string): Parts {
    held += text;
    let content = '';
    let reasoning = '';
    for (;;) {
      if (state === 'start') {
        const trimmed = held.trimStart();
        if (trimmed.length < open.length && open.startsWith(trimmed)) return { content, reasoning };
        if (trimmed.startsWith(open)) held = trimmed.slice(open.length);
        state = trimmed.startsWith(open) || begun ? 'reasoning' : 'content';
      } else if (state === 'reasoning') {
        if (!hasReasoning) held = held.trimStart();
        const at = held.indexOf(close);
        const ready =
          at < 0 ? held.slice(0, held.length - waiting(held, close)) : held.slice(0, at).trimEnd();
        reasoning += ready;
        hasReasoning ||= ready !== '';
        held = at < 0 ? held.slice(ready.length) : held.slice(at + close.length);
        if (at < 0) return { content, reasoning };
        state = 'gap';
      } else if (state === 'gap') {
        held = held.trimStart();
        if (held === '') return { content, reasoning };
        state = 'content';
      } else {
        content += held;
        held = '';
        return { content, reasoning };
      }
    }
  }

  return {
    push,
    /** What is left when the answer has ended. */
    end() {
      const left = held;
      held = '';
      if (state === 'reasoning') return { content: '', reasoning: left.trimEnd() };
      return begun && state === 'start' ? { content: '', reasoning: left } : { content: left, reasoning: '' };
    },
  };
}

/** How much of the end of `text` may be white space before the tag `close` and a part of the tag. */
function waiting(text: string, close: string): number {
  let part = Math.min(close.length - 1, text.length);
  while (part > 0 && !close.startsWith(text.slice(text.length - part))) part -= 1;
  const before = text.slice(0, text.length - part);
  return part + before.length - before.trimEnd().length;
}

/** What the template at a path says of reasoning; `null` for those of earlier versions. */
export const thinkingOf: (path: string) => Promise<Thinking | null> = readThinking;

/**
 * Generates an answer and separates its reasoning; `generate` gets what is to hear its text.
 * @param asked whether the request turns reasoning on or off.
 * @param begun the beginning of the answer, if it goes on from there.
 */
export async function withReasoning(
  thinking: Thinking | null,
  asked: boolean | undefined,
  begun: Begun | null,
  onAnswer: OnAnswer | undefined,
  generate: (onText: OnText | undefined) => Promise<GenerateResult>,
): Promise<PlaygroundAnswer> {
  if (thinking === null || begun?.content) {
    const heard: OnText | undefined = onAnswer && ((text, tokens) => onAnswer(text, tokens, ''));
    return { ...(await generate(heard)), reasoning: null };
  }
  // A prompt that is asked not to reason has its tag closed.
  const opens = asked === undefined ? thinking.opens : asked && thinking.opens_on;
  const split = () => {
    const made = thinking.final == null ? createReasoningSplit(thinking, opens) : createChannelSplit();
    // What the answer goes on from is known.
    if (begun !== null) made.push(thinking.open + begun.reasoning_content);
    return made;
  };
  const heard = split();
  const result = await generate(
    onAnswer &&
      ((text, tokens) => {
        const { content, reasoning } = heard.push(text);
        if (content !== '' || reasoning !== '' || tokens.length > 0) onAnswer(content, tokens, reasoning);
      }),
  );
  const rest = heard.end();
  if (rest.content !== '' || rest.reasoning !== '') onAnswer?.(rest.content, [], rest.reasoning);
  const whole = split();
  const parts = [whole.push(result.text), whole.end()];
  const text = parts.map(({ content }) => content).join('');
  return { ...result, text, reasoning: parts.map(({ reasoning }) => reasoning).join('') || null };
}
