import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { itemOf } from '../../src/api/openai/responses/items.ts';
import { createStoredResponses } from '../../src/api/openai/responses/stored-responses.ts';

const said = (id: string, content = id) => ({
  response: { id, output: [] },
  input: [itemOf({ id: `${id}_item`, role: 'user', content })],
});
const bounds = { responses: 3, bytes: 10_000, ms: 100 };

test('the oldest responses go when there are too many, too large or too old ones', () => {
  let time = 0;
  const stored = createStoredResponses(bounds, () => time);
  const left = () => ['a', 'b', 'c', 'd', 'e'].filter((id) => stored.get('me', id) !== null).join('');
  for (const id of ['a', 'b', 'c', 'd']) stored.put('me', said(id));
  assert.is(left(), 'bcd');
  stored.put('me', said('e', 'x'.repeat(9_700)));
  assert.is(left(), 'e');
  stored.put('me', said('a', 'x'.repeat(20_000)));
  assert.is(left(), '', 'one that is larger than the bound is not stored');
  stored.put('me', said('b'));
  time = 50;
  stored.put('me', said('c'));
  time = 100;
  assert.is(left(), 'c');
});

test('a response and its items are found by their owner alone', () => {
  const stored = createStoredResponses(bounds);
  stored.put('me', said('a'));
  const wanted = new Set(['a_item', 'none']);
  assert.is(stored.get('you', 'a'), null);
  assert.is(stored.remove('you', 'a'), false);
  assert.equal([...stored.items('you', wanted).keys()], []);
  assert.equal([...stored.items('me', wanted).keys()], ['a_item']);
  assert.is(stored.remove('me', 'a'), true);
  assert.is(stored.get('me', 'a'), null);
  assert.is(stored.remove('me', 'a'), false);
});

test.run();
