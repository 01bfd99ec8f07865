import { AppError } from '../../../errors.ts';
import type { SentMessage } from '../completions/messages.ts';
import type { Item } from './items.ts';

/** A message of the model while its items are joined: its reasoning, its text and its calls are items of their own. */
type Answer = Pick<SentMessage, 'role' | 'content' | 'reasoning_content' | 'tool_calls'>;

/** The messages that items stand for. A conversation has one system message at its beginning, so both texts are one. */
export function messagesFrom(instructions: string | null | undefined, items: readonly Item[]): SentMessage[] {
  const messages: SentMessage[] = instructions ? [{ role: 'system', content: instructions }] : [];
  let answer: Answer | null = null;
  const answered = (isComplete: (answer: Answer) => unknown): Answer => {
    if (answer === null || isComplete(answer)) {
      answer = { role: 'assistant', content: '' };
      messages.push(answer);
    }
    return answer;
  };
  for (const [index, one] of items.entries()) {
    if (one.type === 'reasoning') {
      const text = one.content.map((part) => part.text).join('');
      answered(() => true).reasoning_content = text;
    } else if (one.type === 'function_call') {
      const called = { name: one.name, arguments: one.arguments };
      const call = { id: one.call_id, type: 'function' as const, function: called };
      const said = answered(() => false);
      said.tool_calls = [...(said.tool_calls ?? []), call];
    } else if (one.type === 'message') {
      const text = one.content.map((part) => part.text).join('');
      if (one.role === 'assistant') {
        answered(({ content, tool_calls: calls }) => content !== '' || calls !== undefined).content = text;
        continue;
      }
      answer = null;
      const role = one.role === 'user' ? 'user' : 'system';
      if (index === 0 && role === 'system' && instructions)
        messages[0] = { role, content: `${instructions}\n\n${text}` };
      else messages.push({ role, content: text });
    } else {
      answer = null;
      messages.push({ role: 'tool', content: one.output, tool_call_id: one.call_id });
    }
  }
  return messages;
}

/**
 * @param before the items of the response that these go on from.
 * @throws AppError `invalid` for a result whose call is not before it, and for a call without a result after it.
 */
export function checkResults(before: readonly Item[], items: readonly Item[]): void {
  // OpenAI's words.
  const refuse = (msg: string, ...place: string[]) => {
    throw new AppError('invalid', msg, {
      issues: [{ loc: ['body', 'input', ...place], msg, type: 'value_error' }],
    });
  };
  const calls = new Set<string>();
  const open = new Set<string>();
  for (const [at, one] of [...before, ...items].entries()) {
    if (one.type === 'function_call') {
      calls.add(one.call_id);
      open.add(one.call_id);
    }
    if (one.type !== 'function_call_output') continue;
    open.delete(one.call_id);
    const msg = `No tool call found for function call output with call_id ${one.call_id}.`;
    if (!calls.has(one.call_id)) refuse(msg, String(at - before.length), 'call_id');
  }
  for (const id of open) refuse(`No tool output found for function call ${id}.`);
}
