import { AppError } from '../../errors.ts';
import type { Joined } from './join-tokens.ts';
import type { Message } from './message.ts';

/** What a template says of reasoning. */
interface Reasoning {
  readonly open: string;
  readonly close: string;
  readonly final?: string | null | undefined;
  readonly opens: boolean;
  readonly opens_on: boolean;
}

/** Where an answer is cut out of its rendering: no template and no answer has it. */
const mark = '\u{F0000}';
const probe = 'answer';

/**
 * The prompt of a conversation that ends with the beginning of an answer, and that beginning as the model wrote it.
 * @param render renders messages, with the start of an answer (a prompt) or without.
 * @throws AppError `invalid` where the template leaves the reasoning out.
 */
export function begunAnswer(
  messages: readonly Message[],
  thinking: boolean | undefined,
  reasoning: Reasoning | null,
  render: (messages: readonly Message[], isPrompt: boolean) => string,
): Joined {
  const asked = messages.slice(0, -1);
  const { role, content, reasoning_content: thoughts = '' } = messages.at(-1) as Message;
  const prompt = render(asked, true);
  const begins = thinking === undefined ? reasoning?.opens : thinking && reasoning?.opens_on;
  const plain = () => ({ prompt, rest: spaceBefore(asked, prompt, render) + content });
  if (thoughts === '' && (reasoning === null || thinking === false)) return plain();
  const marked =
    content === ''
      ? { role, content, reasoning_content: thoughts + mark }
      : { role, content: content + mark, reasoning_content: thoughts };
  const whole = render([...asked, marked], false);
  const end = whole.indexOf(mark);
  if (whole.startsWith(prompt) && end >= prompt.length)
    return { prompt, rest: whole.slice(prompt.length, end) };
  if (thoughts === '' && !begins && !reasoning?.final) return plain();
  if (reasoning === null || reasoning.final)
    throw new AppError(
      'invalid',
      'The model’s template does not take up reasoning: the answer cannot go on.',
    );
  const before = `${begins ? '' : `${reasoning.open}\n`}${thoughts}`;
  return { prompt, rest: content === '' ? before : `${before}\n${reasoning.close}\n\n${content}` };
}

/** The white space that a template puts between a prompt and its answer, as in `[/INST] answer`. */
function spaceBefore(
  asked: readonly Message[],
  prompt: string,
  render: (messages: readonly Message[], isPrompt: boolean) => string,
): string {
  const whole = render([...asked, { role: 'assistant', content: probe }], false);
  const space = whole.startsWith(prompt)
    ? whole.slice(prompt.length, whole.indexOf(probe, prompt.length))
    : '';
  return space.trim() === '' ? space : '';
}
