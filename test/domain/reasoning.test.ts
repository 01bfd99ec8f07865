import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createReasoningSplit } from '../../src/domain/playground/reasoning.ts';

const tags = { open: '<think>', close: '</think>' };

/** The parts of a text that comes in pieces of `size`. */
function parts(text: string, begun: boolean, size: number): [reasoning: string, content: string] {
  const split = createReasoningSplit(tags, begun);
  const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
  const heard = [...pieces.map((piece) => split.push(piece)), split.end()];
  return [heard.map(({ reasoning }) => reasoning).join(''), heard.map(({ content }) => content).join('')];
}

const cases: [name: string, text: string, begun: boolean, expected: [string, string]][] = [
  ['reasoning and answer', '<think>\nTwo\n\nand three.\n</think>\n\n5', false, ['Two\n\nand three.', '5']],
  ['empty reasoning', '<think>\n\n</think>\n\n5\n', false, ['', '5\n']],
  ['begun by the prompt', 'Two.\n</think>\n\n5', true, ['Two.', '5']],
  ['begun, and opened again', '<think>Two.</think>5', true, ['Two.', '5']],
  ['ended at once', '\n</think>\n\n5', true, ['', '5']],
  ['cut in the reasoning', '<think>\nTwo and </thi', false, ['Two and </thi', '']],
  ['begun and never closed', 'Two <b> 5 \n', true, ['Two <b> 5', '']],
  ['none', '  5 < 6 </think> <think>', false, ['', '  5 < 6 </think> <think>']],
  ['what looks like a tag', '<thin', false, ['', '<thin']],
  ['nothing', '', true, ['', '']],
  ['only white space', ' \n', false, ['', ' \n']],
];

for (const [name, text, begun, expected] of cases) {
  test(`${name}, however it comes`, () => {
    for (const size of [1, 2, 3, 7, 100]) assert.equal(parts(text, begun, size), expected, `${size}`);
  });
}

test.run();
