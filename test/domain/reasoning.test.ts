import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createChannelSplit } from '../../src/domain/playground/channels.ts';
import { createReasoningSplit } from '../../src/domain/playground/reasoning.ts';

const tags = { open: '<think>', close: '</think>' };

/** The parts of a text that comes in pieces of `size`. */
function parts(
  text: string,
  split: ReturnType<typeof createChannelSplit>,
  size: number,
): [reasoning: string, content: string] {
  const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
  const heard = [...pieces.map((piece) => split.push(piece)), split.end()];
  return [heard.map(({ reasoning }) => reasoning).join(''), heard.map(({ content }) => content).join('')];
}

/** Characters of a piece. */
const sizes = [1, 2, 3, 7, 100];

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
    for (const size of sizes)
      assert.equal(parts(text, createReasoningSplit(tags, begun), size), expected, `${size}`);
  });
}

const analysis = '<|channel|>analysis<|message|>';
const final = '<|channel|>final<|message|>';
const inChannels: [name: string, text: string, expected: [string, string]][] = [
  ['both channels', `${analysis}Two\n<|and|> three.<|end|>assistant${final}5`, ['Two\n<|and|> three.', '5']],
  ['no reasoning', `${final}5 <|en`, ['', '5 <|en']],
  ['no channel, which the prompt may have begun', 'assist 5', ['', 'assist 5']],
  ['empty reasoning', `${analysis}<|end|>assistant${final}5`, ['', '5']],
  [
    'several of each',
    `${analysis}a<|end|>${analysis}b<|end|>${final}5<|end|>assistant${final}6`,
    ['a\nb', '5\n6'],
  ],
  ['another channel', `<|channel|>commentary to=functions.add json<|message|>{}<|end|>`, ['', '{}']],
  ['cut in the reasoning', `${analysis}Two and <|en`, ['Two and <|en', '']],
  ['cut behind the reasoning', `${analysis}Two<|end|>assis`, ['Two', '']],
  ['cut in a header', `${analysis}Two<|end|>assistant<|channel|>fin`, ['Two', '']],
  ['text behind the reasoning', `${analysis}Two<|end|>5`, ['Two', '5']],
  ['no end between messages', `${analysis}Two${final}5${analysis}and`, ['Two\nand', '5']],
  ['nothing', '', ['', '']],
];

for (const [name, text, expected] of inChannels) {
  test(`channels: ${name}, however it comes`, () => {
    for (const size of sizes) assert.equal(parts(text, createChannelSplit(), size), expected, `${size}`);
  });
}

test.run();
