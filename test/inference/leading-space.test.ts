import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { leadingSpace } from '../../src/inference/template/leading-space.ts';
import type { Message } from '../../src/inference/template/message.ts';

/** The lead of a template that writes `before` behind its prompt, with a tokenizer that puts `mark` before a text. */
function lead(before: string, { mark = '', prompt = '[/INST]', whole = '' } = {}): string {
  const pieces: string[] = [];
  const template = {
    render: ([question]: readonly Message[]) => `${question?.content}${prompt}`,
    normalize: (text: string) => text,
    renderAnswered: ([question, answer]: readonly Message[]) => {
      if (answer === undefined) throw new Error('There is no answer.');
      return `${question?.content}${whole || prompt}${before}${answer.content}</s>`;
    },
  };
  const idOf = (piece: string): number => {
    if (!pieces.includes(piece)) pieces.push(piece);
    return pieces.indexOf(piece);
  };
  // A word takes the space before it.
  const tokenize = (text: string) => (`${mark}${text}`.match(/ ?[a-z]+|[^a-z]/g) ?? []).map(idOf);
  return leadingSpace(template, tokenize, (token) => new TextEncoder().encode(pieces[token]));
}

test('white space of the template before an answer is its lead', () => {
  assert.is(lead(''), '');
  assert.is(lead(' '), ' ');
  assert.is(lead('\n'), '\n');
  assert.is(lead(' ', { mark: ' ' }), ' ');
});

test('a tokenizer that joins prompt and answer reads the answer apart, with the space that it puts before texts', () => {
  assert.is(lead('', { prompt: ' ' }), '');
  assert.is(lead('', { prompt: ' ', mark: ' ' }), ' ');
});

test('words of the template stay, and so does everything where a prompt is written differently with an answer', () => {
  assert.is(lead('<think>'), '');
  assert.is(lead(' ', { whole: '[INST]' }), '');
});

test.run();
