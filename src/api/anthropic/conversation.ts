import type { PlaygroundRequest, ToolUse } from '../../domain/playground/playground.ts';
import { AppError } from '../../errors.ts';
import { isBegun, type Prompt, type SentMessage } from './body.ts';

type Input = Extract<PlaygroundRequest['input'], { kind: 'messages' }>;
type Message = Input['messages'][number];
type Blocks = Exclude<SentMessage['content'], string>;

const textOf = (content: string | readonly { readonly text: string }[] | null | undefined): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text).join('\n');
const ofType = <T extends Blocks[number]['type']>(blocks: Blocks, type: T) =>
  blocks.filter((one): one is Extract<Blocks[number], { type: T }> => one.type === type);

/** @throws AppError `invalid` for calls without a result before the next answer, or the end. */
function checkCalls(messages: Prompt['messages']): void {
  const open = new Set<string>();
  let asked = 0;
  for (const [index, one] of [...messages, null].entries()) {
    const blocks = one === null || typeof one.content === 'string' ? [] : one.content;
    for (const { tool_use_id: id } of ofType(blocks, 'tool_result')) open.delete(id);
    if (one !== null && one.role !== 'assistant') continue;
    if (open.size > 0) {
      // Anthropic's words.
      const msg = `messages.${asked}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
      throw new AppError('invalid', msg, {
        issues: [{ loc: ['body', 'messages', String(asked)], msg, type: 'value_error' }],
      });
    }
    asked = index;
    for (const { id } of ofType(blocks, 'tool_use')) open.add(id);
  }
}

/** The messages of a request as the model's template gets them: results of tools are messages of their own. */
function messagesOf({ system, messages }: Prompt): Message[] {
  const calls = new Map<string, string>();
  const first = textOf(system);
  const rendered: Message[] = first === '' ? [] : [{ role: 'system', content: first }];
  for (const [index, { role, content }] of messages.entries()) {
    const blocks: Blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    if (role === 'assistant') {
      const said = ofType(blocks, 'tool_use').map(({ id, name, input }) => {
        calls.set(id, name);
        return { id, name, arguments: JSON.stringify(input) };
      });
      rendered.push({
        role,
        content: textOf(ofType(blocks, 'text')),
        reasoning_content:
          ofType(blocks, 'thinking')
            .map(({ thinking }) => thinking)
            .join('\n') || undefined,
        calls: said.length === 0 ? undefined : said,
      });
      continue;
    }
    for (const [at, one] of blocks.entries()) {
      if (one.type !== 'tool_result') continue;
      const name = calls.get(one.tool_use_id);
      if (name === undefined) {
        const field = `messages.${index}.content.${at}.tool_use_id`;
        const msg = `Field "${field}": must name a tool_use of an earlier message`;
        throw new AppError('invalid', msg, {
          issues: [{ loc: ['body', ...field.split('.')], msg, type: 'value_error' }],
        });
      }
      rendered.push({ role: 'tool', content: textOf(one.content), answers: { id: one.tool_use_id, name } });
    }
    const texts = ofType(blocks, 'text');
    if (texts.length > 0) rendered.push({ role, content: textOf(texts) });
  }
  return rendered;
}

/** What an answer may call; `undefined` if nothing. */
function toolUseOf({ tools, tool_choice: choice }: Prompt): ToolUse | undefined {
  if (!tools?.length || choice?.type === 'none') return undefined;
  return {
    tools: tools.map(({ name, description, input_schema: parameters }) => ({
      type: 'function',
      function: { name, ...(description == null ? {} : { description }), parameters },
    })),
    choice: choice?.type === 'tool' ? { name: choice.name } : choice?.type === 'any' ? 'required' : 'auto',
    parallel: !choice?.disable_parallel_tool_use,
    strict: tools.filter(({ strict }) => strict).map(({ name }) => name),
  };
}

/** @throws AppError `invalid` for the result of a tool that was not called, and for a call without a result. */
export function inputOf(prompt: Prompt): Input {
  const messages = messagesOf(prompt);
  checkCalls(prompt.messages);
  return {
    kind: 'messages',
    messages,
    tools: toolUseOf(prompt),
    thinking: prompt.thinking == null ? undefined : prompt.thinking.type !== 'disabled',
    continues: isBegun(prompt.messages) || undefined,
  };
}
