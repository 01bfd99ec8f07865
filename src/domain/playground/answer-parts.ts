import type { GenerateResult, OnText, TokenChoice } from '../../inference/engine/engine.ts';
import type { ToolUse } from '../../inference/protocol/generation.ts';
import type { Message, SaidCall } from '../../inference/template/message.ts';
import { readAnswerForm } from '../../inference/template/render.ts';
import { type CallDelta, createToolSplit } from './calls/tool-split.ts';
import { createChannelSplit } from './channels.ts';
import { createReasoningSplit } from './reasoning.ts';

/** How reasoning and calls stand in an answer, by its model's template. */
export type AnswerForm = Awaited<ReturnType<typeof readAnswerForm>>;

/**
 * Hears an answer as it is generated: what is new of its content, its tokens, and what is new of its reasoning and of its
 * calls.
 */
export type OnAnswer = (
  content: string,
  tokens: readonly TokenChoice[],
  reasoning: string,
  calls: readonly CallDelta[],
) => void;

/** An answer, of which `text` is the content. */
export interface PlaygroundAnswer extends GenerateResult {
  /** What the model wrote before its answer, as its template marks it; `null` if nothing. */
  readonly reasoning: string | null;
  /** The calls of the request's tools. */
  readonly calls: readonly SaidCall[];
  /** Where it breaks its schema in what no grammar holds. */
  readonly schemaErrors?: readonly string[] | undefined;
}

/** The beginning of an answer; its reasoning is complete if it has content. */
type Begun = Pick<Message, 'content' | 'reasoning_content'>;

/**
 * Whether the prompt turns reasoning on or off. An answer that must be JSON or a call has no room for it. Where it may be a
 * call in a channel of its own, the prompt begins no other.
 */
export function thinkingFor(
  { thinking, tools }: { readonly thinking?: boolean | undefined; readonly tools?: ToolUse | undefined },
  hasSchema: boolean,
  form: AnswerForm,
): boolean | undefined {
  const isHeld = hasSchema || (tools !== undefined && tools.choice !== 'auto');
  if (isHeld && tools !== undefined && form.thinking?.final != null) return undefined;
  return thinking ?? (isHeld ? false : undefined);
}

/** How the answers of the template at a path are read. */
export const answerFormOf: (path: string) => Promise<AnswerForm> = readAnswerForm;

const noCalls: readonly CallDelta[] = [];
const plain = {
  push: (content: string) => ({ content, reasoning: '' }),
  end: () => ({ content: '', reasoning: '' }),
};

/** @param opens whether the prompt begins the reasoning. */
function createAnswerSplit(
  { thinking, toolStyle }: AnswerForm,
  opens: boolean,
  begun: Begun | null,
  use: ToolUse | null,
) {
  const parts =
    thinking === null || begun?.content
      ? plain
      : thinking.final == null
        ? createReasoningSplit(thinking, opens)
        : createChannelSplit(use !== null);
  // What the answer goes on from is known.
  if (thinking !== null && begun !== null) parts.push(thinking.open + begun.reasoning_content);
  const calls = use !== null && toolStyle !== null ? createToolSplit(toolStyle, use) : null;
  return {
    push(text: string) {
      const { content, reasoning } = parts.push(text);
      return { reasoning, ...(calls?.push(content) ?? { content, calls: noCalls }) };
    },
    end() {
      const { content, reasoning } = parts.end();
      if (calls === null) return { reasoning, content, calls: noCalls };
      const [last, left] = [calls.push(content), calls.end()];
      return { reasoning, content: last.content + left.content, calls: [...last.calls, ...left.calls] };
    },
  };
}

/** The calls that deltas add up to. */
function callsOf(deltas: readonly CallDelta[]): SaidCall[] {
  const calls: SaidCall[] = [];
  for (const { index, id = '', name = '', arguments: text } of deltas) {
    const call = calls[index] ?? { id, name, arguments: '' };
    calls[index] = { ...call, arguments: call.arguments + text };
  }
  return calls;
}

/**
 * Generates an answer and separates its reasoning and calls; `generate` gets what is to hear its text.
 * @param asked whether the request turns reasoning on or off.
 * @param begun the beginning of the answer, if it goes on from there.
 * @param use the tools that it may call.
 */
export async function withParts(
  form: AnswerForm,
  asked: boolean | undefined,
  begun: Begun | null,
  use: ToolUse | null,
  onAnswer: OnAnswer | undefined,
  generate: (onText: OnText | undefined) => Promise<GenerateResult>,
): Promise<PlaygroundAnswer> {
  const { thinking } = form;
  // A prompt that is asked not to reason has its tag closed.
  const opens = thinking !== null && (asked === undefined ? thinking.opens : asked && thinking.opens_on);
  const split = createAnswerSplit(form, opens, begun, use);
  const heard: CallDelta[] = [];
  let text = '';
  let reasoning = '';
  const hear = (parts: ReturnType<typeof split.push>, tokens: readonly TokenChoice[]) => {
    text += parts.content;
    reasoning += parts.reasoning;
    heard.push(...parts.calls);
    if (parts.content !== '' || parts.reasoning !== '' || parts.calls.length > 0 || tokens.length > 0)
      onAnswer?.(parts.content, tokens, parts.reasoning, parts.calls);
  };
  const result = await generate(onAnswer && ((delta, tokens) => hear(split.push(delta), tokens)));
  if (onAnswer === undefined) hear(split.push(result.text), []);
  hear(split.end(), []);
  return { ...result, text, reasoning: reasoning || null, calls: callsOf(heard) };
}
