/** What a cleaning takes for an empty answer of a conversation. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { cleanRows } from '../../../../src/domain/datasets/cleaning/clean-rows.ts';
import { temporaryFolder } from '../../../folders.ts';

const user = { role: 'user', content: 'What is the weather?' };
const assistant = (content: string | null, more = {}) => ({ role: 'assistant', content, ...more });
const call = { id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } };

test('an answer of calls alone is kept, and one of nothing removed', async () => {
  const path = join(temporaryFolder(), 'rows.jsonl');
  const rows = [
    [user, assistant('')],
    [user, assistant('', { tool_calls: [call] })],
    [user, assistant(null, { tool_calls: [call] })],
    [user, assistant(' ', { tool_calls: [] })],
    [user, assistant('', { weight: 0 }), user, assistant('Rain.')],
  ].map((messages) => JSON.stringify({ messages }));
  writeFileSync(path, rows.join('\n'));
  const done = { removed: 0, changed: 0 };
  const { signal } = new AbortController();
  const pieces: Buffer[] = [];
  for await (const piece of cleanRows(
    path,
    'empty_answers',
    { shape: 'messages', flags: new Set<string>(), rows: 5 },
    done,
    signal,
  ))
    pieces.push(piece);
  assert.equal(Buffer.concat(pieces).toString().trimEnd().split('\n'), [rows[1], rows[2], rows[4]]);
  assert.equal(done, { removed: 2, changed: 0 });
});

test.run();
