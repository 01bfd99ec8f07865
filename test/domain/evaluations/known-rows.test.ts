import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { countKnownRows, knownRowsWarning } from '../../../src/domain/evaluations/known-rows.ts';
import { temporaryFolder } from '../../folders.ts';

const folder = temporaryFolder();
const file = (name: string, rows: readonly string[]) => {
  const path = join(folder, name);
  writeFileSync(path, rows.join('\n'));
  return path;
};
const fields = ['input', 'output'];
const row = (n: number) => JSON.stringify({ input: `${n}`, output: 'é' });

test('rows are counted that are in the other file, also those that are written twice or in another way', async () => {
  const scored = file('scored.jsonl', [row(1), '', ` ${row(2)} `, row(2), row(9), '']);
  const trained = file('trained.jsonl', [
    row(2),
    row(2),
    'no JSON',
    'null',
    `{"output": "\\u00e9", "input": "1"}`,
  ]);
  assert.is(await countKnownRows(scored, trained, fields), 3);
  assert.is(await countKnownRows(scored, file('none.jsonl', [row(4)]), fields), 0);
  assert.is(await countKnownRows(scored, join(folder, 'deleted.jsonl'), fields), 0);
});

test('the warning tells how many, and there is none without any', () => {
  assert.is(knownRowsWarning(0, 40, false), null);
  assert.match(
    knownRowsWarning(12, 40, false) ?? '',
    /^12 of the 40 rows are in the dataset that the model was trained on/,
  );
  assert.match(knownRowsWarning(40, 40, false) ?? '', /^All 40 rows are in/);
  assert.match(knownRowsWarning(1, 1, false) ?? '', /^The row is in/);
  // Which rows a split held out is not known here.
  assert.match(knownRowsWarning(12, 40, true) ?? '', 'Unless they are in that part, the figures are better');
});

test.run();
