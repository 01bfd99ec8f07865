import { joinTokens } from './join-tokens.ts';
import type { StoredTemplate } from './render.ts';

const question = { role: 'user', content: 'question' };
const answer = { role: 'assistant', content: 'answer' };

/**
 * The white space before an answer's text in its tokens that is not part of the answer: that of a template such as
 * `[/INST] answer`, and the space that tokenizers of SentencePiece put before a text (`▁answer`).
 */
export function leadingSpace(
  template: Pick<StoredTemplate, 'render' | 'renderAnswered' | 'normalize'>,
  tokenize: (text: string) => number[],
  bytesOf: (token: number) => Uint8Array,
): string {
  let prompt: string;
  let whole: string;
  try {
    prompt = template.render([question]);
    whole = template.renderAnswered([question, answer]);
  } catch {
    // A template that asks for more, such as a system message.
    return '';
  }
  if (!whole.startsWith(prompt)) return '';
  const normalized = (text: string) => tokenize(template.normalize(text));
  const tokens = joinTokens({ prompt, rest: whole.slice(prompt.length) }, normalized);
  const learned = tokens.slice(normalized(prompt).length);
  const text = Buffer.concat(learned.map(bytesOf)).toString('utf8');
  const lead = text.slice(0, Math.max(0, text.indexOf(answer.content)));
  return lead.trim() === '' ? lead : '';
}
