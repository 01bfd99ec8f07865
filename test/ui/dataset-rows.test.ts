/** Answers of a chat as rows of datasets, and conversations in a table of rows. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rowOf } from '../../ui/state/playground/dataset-rows.ts';
import type { Exchange, Result, Side } from '../../ui/state/playground/exchange.ts';
import { lastTurn, sharedSystem } from '../../ui/views/datasets/row-fields.ts';

const side = (text: string, correction?: string): Side => ({
  ...{ name: 'tiny', first: '', text, busy: false, answer: null, error: null, stopped: false },
  ...(correction === undefined ? {} : { correction }),
});
const exchange = (prompt: string, sides: Side[], system = '', results: Result[] = []): Exchange => ({
  ...{ id: prompt, after: '', prompt, results, system, sides },
});
/** As it is sent. */
const asJson = (row: unknown) => JSON.parse(JSON.stringify(row));

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
  assert.equal(asJson(rowOf('messages', before, last, 0)), {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: 'Uno' },
      { role: 'user', content: last.prompt },
      { role: 'assistant', content: '3' },
    ],
  });
});

test('a conversation with calls has their results and the tools, and no call without a result', () => {
  const call = { id: 'call_1', name: 'weather', arguments: '{"place": "Oslo"}' };
  const asked = exchange('Oslo?', [{ ...side(''), calls: [call] }]);
  const result = { call_id: call.id, name: call.name, content: '12 degrees' };
  const answered = exchange('', [side('It is mild.')], '', [result]);
  const tools = [{ type: 'function', function: { name: 'weather' } }];
  const called = { ...call, id: undefined };
  const said = [
    { role: 'user', content: 'Oslo?' },
    {
      ...{ role: 'assistant', content: '' },
      tool_calls: [{ id: 'call_1', type: 'function', function: called }],
    },
  ];
  assert.equal(asJson(rowOf('messages', [], asked, 0, tools)), { messages: asJson(said), tools });
  const whole = [...said, { role: 'tool', tool_call_id: 'call_1', content: '12 degrees' }];
  assert.equal(asJson(rowOf('messages', [asked], answered, 0)), {
    messages: [...asJson(whole), { role: 'assistant', content: 'It is mild.' }],
  });
  assert.is(rowOf('input-output', [], asked, 0), null);
  assert.is(rowOf('input-output', [asked], answered, 0), null);
  // A prompt that was sent instead of a result, and a result that was not answered.
  const plain = {
    messages: [
      { role: 'user', content: 'Thanks.' },
      { role: 'assistant', content: 'Bye.' },
    ],
  };
  const next = exchange('Thanks.', [side('Bye.')]);
  assert.equal(asJson(rowOf('messages', [asked], next, 0)), plain);
  const failed = exchange('', [side('')], '', [result]);
  assert.equal(asJson(rowOf('messages', [asked, failed], next, 0)), plain);
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
