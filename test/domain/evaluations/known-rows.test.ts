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
const row = (n: number) => JSON.stringify({ input: `${n}`, output: 'é' });

test('rows are counted that are in the other file, also those that are written twice there or here', async () => {
  const scored = file('scored.jsonl', [row(1), '', ` ${row(2)} `, row(2), row(9), '']);
  const trained = file('trained.jsonl', [row(2), row(2), row(3), row(1)]);
  assert.is(await countKnownRows(scored, trained), 3);
  assert.is(await countKnownRows(scored, file('none.jsonl', [row(4)])), 0);
  assert.is(await countKnownRows(scored, join(folder, 'deleted.jsonl')), 0);
});

test('the warning tells how many, and there is none without any', () => {
  assert.is(knownRowsWarning(0, 40), null);
  assert.match(
    knownRowsWarning(12, 40) ?? '',
    /^12 of the 40 rows are in the dataset that the model was trained on/,
  );
  assert.match(knownRowsWarning(40, 40) ?? '', /^All 40 rows are in/);
  assert.match(knownRowsWarning(1, 1) ?? '', /^The row is in/);
});

test.run();
