import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { textOr } from '../../../http/parsing/text-or.ts';
import { functionName } from '../completions/tools.ts';
import { or } from '../schemas.ts';

/** An identifier in OpenAI's form. */
export const idOf = (prefix: string): string => `${prefix}_${randomBytes(24).toString('hex')}`;

const textPart = v.variant(
  'type',
  [
    v.object({ type: v.literal('input_text'), text: v.string() }),
    v.object({ type: v.literal('output_text'), text: v.string() }),
  ],
  ({ received }) => `must be input_text or output_text: only text is supported, not ${received}`,
);
const content = textOr(v.array(textPart), 'must be a text or a list of text parts');
const itemId = v.pipe(v.string(), v.minLength(1), v.maxLength(256));
const givenStatus = or(v.picklist(['in_progress', 'completed', 'incomplete']));
const given = { id: or(itemId), status: givenStatus };

/** An item of a request's input, as clients send it: what they write, and what earlier responses had. */
export const inputItem = v.variant(
  'type',
  [
    v.strictObject({
      type: v.optional(v.literal('message')),
      ...given,
      role: v.picklist(['system', 'developer', 'user', 'assistant']),
      content,
      phase: or(v.string()),
    }),
    v.strictObject({
      type: v.literal('function_call'),
      ...given,
      call_id: itemId,
      name: functionName,
      arguments: v.string(),
    }),
    v.strictObject({ type: v.literal('function_call_output'), ...given, call_id: itemId, output: content }),
    v.strictObject({
      type: v.literal('reasoning'),
      ...given,
      summary: or(v.array(v.unknown())),
      content: or(v.array(v.object({ type: v.literal('reasoning_text'), text: v.string() }))),
      encrypted_content: or(v.string()),
    }),
    v.strictObject({ type: v.literal('item_reference'), id: itemId }),
  ],
  ({ received }) => `items of the type ${received} are not supported`,
);
export type InputItem = v.InferOutput<typeof inputItem>;

const stored = { id: v.string(), status: v.picklist(['in_progress', 'completed', 'incomplete']) };
const logprob = { token: v.string(), logprob: v.number(), bytes: v.nullable(v.array(v.number())) };
export const messageItem = v.object({
  ...stored,
  type: v.literal('message'),
  role: v.string(),
  content: v.array(
    v.variant('type', [
      v.object({ type: v.literal('input_text'), text: v.string() }),
      v.object({
        type: v.literal('output_text'),
        text: v.string(),
        annotations: v.array(v.never()),
        logprobs: v.array(v.object({ ...logprob, top_logprobs: v.array(v.object(logprob)) })),
      }),
    ]),
  ),
});
export const callItem = v.object({
  ...stored,
  type: v.literal('function_call'),
  call_id: v.string(),
  name: v.string(),
  arguments: v.string(),
});
export const reasoningItem = v.object({
  ...stored,
  type: v.literal('reasoning'),
  summary: v.array(v.never()),
  /** What the model wrote before its answer, as its template marks it. */
  content: v.array(v.object({ type: v.literal('reasoning_text'), text: v.string() })),
});
/** An item as it is stored and returned. */
export const item = v.variant('type', [
  messageItem,
  callItem,
  reasoningItem,
  v.object({ ...stored, type: v.literal('function_call_output'), call_id: v.string(), output: v.string() }),
]);
export type Item = v.InferOutput<typeof item>;

const textOf = (parts: v.InferOutput<typeof content>): string =>
  typeof parts === 'string' ? parts : parts.map(({ text }) => text).join('');

/** The text part of an answer. */
export const outputText = (text: string) => ({
  type: 'output_text' as const,
  text,
  annotations: [],
  logprobs: [] as Extract<
    v.InferOutput<typeof messageItem>['content'][number],
    { type: 'output_text' }
  >['logprobs'],
});

/** An item of a request, with what clients may leave out; a reference stands for an item that is stored. */
export function itemOf(sent: Exclude<InputItem, { type: 'item_reference' }>): Item {
  const head = (prefix: string) => ({
    id: sent.id ?? idOf(prefix),
    status: sent.status ?? ('completed' as const),
  });
  switch (sent.type) {
    case 'function_call': {
      const { type, call_id, name, arguments: text } = sent;
      return { ...head('fc'), type, call_id, name, arguments: text };
    }
    case 'function_call_output':
      return { ...head('fc'), type: sent.type, call_id: sent.call_id, output: textOf(sent.output) };
    case 'reasoning':
      return { ...head('rs'), type: sent.type, summary: [], content: sent.content ?? [] };
    default: {
      const { role, content: parts } = sent;
      const texts = typeof parts === 'string' ? [parts] : parts.map(({ text }) => text);
      const part = (text: string) =>
        role === 'assistant' ? outputText(text) : { type: 'input_text' as const, text };
      return { ...head('msg'), type: 'message', role, content: texts.map(part) };
    }
  }
}
