/** Texts that are nearly the same, against a plain computation of their similarity. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNearTexts } from '../../../src/domain/traffic/near-texts.ts';
import { rowWords } from '../../../src/domain/traffic/row-words.ts';

/** Made-up words, the same each time. */
let state = 11;
const draw = (below: number) => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return (state >>> 8) % below;
};
const word = () =>
  Array.from({ length: 3 + draw(6) }, () => 'abcdefghijklmnopqrstuvwxyzäé漢'.charAt(draw(29))).join('');
const sentence = () => Array.from({ length: 25 }, word);

test('a text is found however it is written', () => {
  const texts = createNearTexts();
  for (const text of ['Where is my parcel?', 'नमस्ते दुनिया', '', '🚀', 'no']) assert.ok(texts.add(text));
  assert.equal(texts.find('where  is\nMY parcel'), { text: 'Where is my parcel?', similarity: 1 });
  assert.is(texts.find('नमस्ते, दुनिया!')?.similarity, 1);
  assert.is(texts.find('No.')?.similarity, 1);
  for (const text of ['Where is my invoice?', 'नमस्ते', '', '🚀', '  !'])
    assert.is(texts.find(text), null, text);
});

test('of texts with some words changed, those of a similarity of 0.8 are found, and no others', () => {
  const shingles = (text: string) =>
    new Set(Array.from({ length: Math.max(1, text.length - 7) }, (_, at) => text.slice(at, at + 8)));
  const similarity = (one: string, other: string) => {
    const [a, b] = [shingles(one), shingles(other)];
    const both = [...a].filter((each) => b.has(each)).length;
    return both / (a.size + b.size - both);
  };
  const texts = createNearTexts();
  const originals = Array.from({ length: 500 }, sentence);
  for (const words of originals) texts.add(words.join(' '));
  let near = 0;
  let missed = 0;
  for (const [index, words] of originals.entries()) {
    const text = words.join(' ');
    const changed = words.map((one, at) => (at < index % 4 ? word() : one)).join(' ');
    const found = texts.find(changed);
    const wanted = similarity(text, changed);
    if (found !== null) assert.ok(found.text === text && Math.abs(found.similarity - wanted) < 1e-9);
    if (wanted >= 0.8) near += 1;
    if (wanted >= 0.8 && found === null) missed += 1;
  }
  assert.ok(near > 200 && missed <= near / 20, `${missed} of ${near}`);
});

test('what is compared of a row is what is asked and answered, without the system prompt', () => {
  const asked = [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'Hi' },
  ];
  const call = { id: 'call_7', type: 'function', function: { name: 'find', arguments: '{"a":1}' } };
  for (const [row, expected] of [
    [{ messages: [...asked, { role: 'assistant', content: 'Yes' }] }, ['Hi', 'Hi\nYes']],
    [{ messages: asked }, ['Hi', 'Hi']],
    [{ prompt: asked, chosen: [{ role: 'assistant', content: 'A' }], rejected: 'B' }, ['Hi', 'Hi\nA\nB']],
    [
      { prompt: 'Hi', completion: [{ role: 'assistant', content: null, tool_calls: [call] }] },
      ['Hi', 'Hi\n\nfind {"a":1}'],
    ],
    [{ input: 'Hi', output: 'Yes' }, ['Hi', 'Hi\nYes']],
    [{ context: 'C', question: 'Q', answer: 'A' }, ['C\nQ', 'C\nQ\nA']],
    [{ messages: [null, 3, { role: 'assistant', content: 'Yes', tool_calls: [null, 'x'] }] }, null],
    [{ messages: 7, prompt: null, other: 'x' }, ['', '']],
  ] as const) {
    const { asked: question, all } = rowWords(row);
    if (expected !== null) assert.equal([question, all], expected, JSON.stringify(row));
  }
});

test.run();
