import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { chatBody } from '../../src/api/openai/completions/bodies.ts';

const question = { role: 'user', content: 'Where is my parcel?' };
const begun = { role: 'assistant', content: 'It is' };
const faultsOf = (body: object) =>
  (v.safeParse(chatBody, { model: 'a', ...body }).issues ?? []).map(({ message }) => message).join();

test('an answer goes on only from one that has begun, without a format', () => {
  const goesOn = { continue_final_message: true };
  assert.is(faultsOf({ messages: [question, begun], ...goesOn }), '');
  assert.is(faultsOf({ messages: [question] }), '');
  assert.match(faultsOf({ messages: [question], ...goesOn }), 'an answer that has begun as the last');
  assert.is(faultsOf({ messages: [question], continue_final_message: false }), '');
  const format = { response_format: { type: 'json_object' } };
  assert.is(faultsOf({ messages: [question, begun], ...format }), '');
  assert.is.not(faultsOf({ messages: [question, begun], ...goesOn, ...format }), '');
});

test.run();
