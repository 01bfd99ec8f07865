import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { placeBefore } from '../../../../src/domain/datasets/rows/row-index.ts';
import { temporaryFolder } from '../../../folders.ts';

const row = (number: number) => `{"input": "${number}", "output": "ä"}\n`;
/** 3,500 rows, with an empty line before each hundredth. */
const text = Array.from(
  { length: 3_500 },
  (_, number) => `${number % 100 === 0 ? '\n' : ''}${row(number)}`,
).join('');

test('a row deep in a file is found from the place of a row before it', async () => {
  const path = join(temporaryFolder(), 'rows.jsonl');
  writeFileSync(path, text);
  assert.equal(await placeBefore(path, 999), { row: 0, line: 1, offset: 0 });
  for (const from of [1_000, 1_001, 3_499, 2_000]) {
    const place = await placeBefore(path, from);
    assert.is(place.row, Math.floor(from / 1_000) * 1_000, `for row ${from}`);
    assert.ok(Buffer.from(text).subarray(place.offset).toString().trimStart().startsWith(row(place.row)));
    // Empty lines count: one before each hundredth row.
    assert.is(text.split('\n')[place.line - 1], row(place.row).trimEnd());
  }
});

test('beyond the end the last known place is given, and a changed file is read anew', async () => {
  const path = join(temporaryFolder(), 'rows.jsonl');
  writeFileSync(path, text);
  assert.is((await placeBefore(path, 90_000)).row, 3_000);
  writeFileSync(path, `${row(0)}${text}`);
  const { row: found, offset } = await placeBefore(path, 1_000);
  assert.is(found, 1_000);
  const all = Buffer.from(`${row(0)}${text}`);
  assert.ok(all.subarray(offset).toString().trimStart().startsWith(row(999)));
});

test('a scan that is given up tells the place that is known', async () => {
  const path = join(temporaryFolder(), 'rows.jsonl');
  writeFileSync(path, text);
  assert.equal(await placeBefore(path, 3_000, AbortSignal.abort()), { row: 0, line: 1, offset: 0 });
});

test.run();
