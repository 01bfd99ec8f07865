import * as v from 'valibot';
import { AppError } from '../../../errors.ts';
import { or, unsupported } from '../schemas.ts';
import { toolCalls } from './tools.ts';

const textPart = v.object({ type: v.literal('text', 'only text is supported'), text: v.string() });
/** With the fields of an answer, which clients send back. */
const message = v.pipe(
  v.strictObject({
    role: v.picklist(['system', 'developer', 'user', 'assistant', 'tool']),
    content: or(v.union([v.string(), v.array(textPart)], 'must be a text or a list of text parts')),
    /** The reasoning of an earlier answer; the template keeps it or leaves it out. */
    reasoning_content: or(v.string()),
    name: or(v.string()),
    refusal: unsupported('refusals are'),
    annotations: or(v.array(v.unknown())),
    audio: unsupported('audio is'),
    tool_calls: or(toolCalls),
    tool_call_id: or(v.string()),
    function_call: unsupported('function calls are'),
  }),
  v.forward(
    v.partialCheck(
      [['role'], ['tool_calls']],
      ({ role, tool_calls: calls }) => role === 'assistant' || !calls?.length,
      'are of the role assistant',
    ),
    ['tool_calls'],
  ),
  v.forward(
    v.partialCheck(
      [['role'], ['tool_call_id']],
      ({ role, tool_call_id: id }) => (role === 'tool') === (id != null),
      'must name the call that a message of the role tool, and no other, answers',
    ),
    ['tool_call_id'],
  ),
  v.forward(
    v.partialCheck(
      [['role'], ['content'], ['tool_calls']],
      ({ role, content, tool_calls: calls }) =>
        content != null || (role === 'assistant' && (calls ?? []).length > 0),
      'must be a text or a list of text parts, unless an answer has tool_calls',
    ),
    ['content'],
  ),
);
export type SentMessage = v.InferOutput<typeof message>;

/** The text of a message. */
const textOf = (content: SentMessage['content']): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text).join('');

/** Messages of tools, each with the call that it answers, if there is one before it. */
function answeredCalls(messages: readonly SentMessage[]) {
  const calls = new Map<string, string>();
  return messages.map((one) => {
    for (const { id, function: called } of one.tool_calls ?? []) calls.set(id, called.name);
    const name = calls.get(one.tool_call_id ?? '');
    return name === undefined ? undefined : { id: one.tool_call_id as string, name };
  });
}

/** The messages of a request as the model's template gets them. */
export function messagesOf(messages: readonly SentMessage[]) {
  const answered = answeredCalls(messages);
  return messages.map(({ role, content, reasoning_content: reasoning, tool_calls: calls }, index) => ({
    role: role === 'developer' ? 'system' : role,
    content: textOf(content),
    reasoning_content: reasoning || undefined,
    calls: calls?.length
      ? calls.map(({ id, function: called }) => ({ id, name: called.name, arguments: called.arguments }))
      : undefined,
    answers: role === 'tool' ? answered[index] : undefined,
  }));
}

export const messages = v.pipe(
  v.array(message),
  v.minLength(1, 'must hold at least one message'),
  v.maxLength(10_000),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const answered = answeredCalls(dataset.value);
    for (const [key, value] of dataset.value.entries())
      if (value.role === 'tool' && answered[key] === undefined)
        addIssue({
          message: 'must name a call in the tool_calls of an earlier message',
          path: [
            { type: 'array', origin: 'value', input: dataset.value, key, value },
            {
              type: 'object',
              origin: 'value',
              input: { ...value },
              key: 'tool_call_id',
              value: value.tool_call_id,
            },
          ],
        });
  }),
);

/** @throws AppError `invalid` for calls without a result in the messages of tools right after them. */
export function checkCalls(messages: readonly SentMessage[]): void {
  const open = new Set<string>();
  for (const one of [...messages, null]) {
    if (one?.role === 'tool') {
      open.delete(one.tool_call_id ?? '');
      continue;
    }
    if (open.size > 0) {
      // OpenAI's words.
      const msg = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`;
      throw new AppError('invalid', msg, {
        issues: [{ loc: ['body', 'messages'], msg, type: 'value_error' }],
      });
    }
    for (const { id } of one?.tool_calls ?? []) open.add(id);
  }
}

/** Whether a message is the beginning of an answer. */
export const isBegun = (last: SentMessage | undefined): boolean =>
  last?.role === 'assistant' &&
  !last.tool_calls?.length &&
  (textOf(last.content) !== '' || Boolean(last.reasoning_content));
