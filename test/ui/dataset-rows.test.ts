/** Answers of a chat as rows of datasets, and conversations in a table of rows. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rowOf } from '../../ui/state/playground/dataset-rows.ts';
import type { Exchange, Side } from '../../ui/state/playground/exchange.ts';
import { lastTurn, sharedSystem } from '../../ui/views/datasets/row-fields.ts';

const side = (text: string, correction?: string): Side => ({
  ...{ name: 'tiny', first: '', text, busy: false, answer: null, error: null, stopped: false },
  ...(correction === undefined ? {} : { correction }),
});
const exchange = (prompt: string, sides: Side[], system = ''): Exchange => ({
  ...{ id: prompt, after: '', prompt, system, sides },
});

test('a row has the corrected text, and a conversation what was sent before', () => {
  const before = [exchange('One?', [side('1', 'Uno')]), exchange('Two?', [side('')])];
  const last = exchange('Text.\n\nMore.\n\nThree?', [side(' 3\n'), side('three', 'Tre')], 'Be brief.');
  assert.equal(rowOf('input-output', before, last, 0), { input: last.prompt, output: '3' });
  assert.equal(rowOf('question-answer', before, last, 1), {
    ...{ context: 'Text.\n\nMore.', question: 'Three?', answer: 'Tre' },
  });
  assert.equal(rowOf('preference', before, last, 1), {
    prompt: last.prompt,
    chosen: 'Tre',
    rejected: 'three',
  });
  assert.equal(rowOf('messages', before, last, 0), {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: 'Uno' },
      { role: 'user', content: last.prompt },
      { role: 'assistant', content: '3' },
    ],
  });
});

test('an answer that has nothing for a shape is no row of it', () => {
  const plain = exchange('Three?', [side('3'), side(' ')]);
  assert.is(rowOf('preference', [], plain, 0), null);
  assert.is(rowOf('question-answer', [], plain, 0), null);
  for (const index of [1, 2]) assert.is(rowOf('messages', [], plain, index), null);
});

test('of conversations the last question and answer are shown, and their system prompt once', () => {
  const system = { role: 'system', content: 'Be brief.' };
  const [one, two] = ['One', 'Two'].map((word) => [
    { role: 'user', content: `${word}?` },
    { role: 'assistant', content: `${word}.` },
  ]) as [{ role: string; content: string }[], { role: string; content: string }[]];
  const talk = [system, ...one, ...two];
  assert.is(lastTurn(talk, true), '2 more · user: Two? · assistant: Two.');
  assert.is(lastTurn(talk, false), 'system: Be brief. · 2 more · user: Two? · assistant: Two.');
  assert.is(lastTurn([system, ...one], true), 'user: One? · assistant: One.');
  assert.is(lastTurn(one.slice(1), true), 'assistant: One.');
  // A tool may be called between them.
  const call = [two[0], { role: 'assistant', content: null }, { role: 'tool', content: '2' }, two[1]];
  assert.is(lastTurn(call as typeof one, true), '2 more · user: Two? · assistant: Two.');
  assert.is(sharedSystem([{ messages: talk }, { messages: [system, ...one] }]), 'Be brief.');
  assert.is(sharedSystem([{ messages: talk }, { messages: one }]), null);
  assert.is(sharedSystem([{ input: 'a', output: 'b' }]), null);
  assert.is(sharedSystem([]), null);
});

test.run();
