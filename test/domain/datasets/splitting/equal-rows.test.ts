import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { drawGroups, equalRows } from '../../../../src/domain/datasets/splitting/equal-rows.ts';
import { temporaryFolder } from '../../../folders.ts';

const path = join(temporaryFolder(), 'rows.jsonl');
const groupsOf = async (lines: readonly string[], signal = new AbortController().signal) => {
  writeFileSync(path, lines.join('\n'));
  const rows = lines.filter((line) => line !== '').length;
  const groups = await equalRows(path, ['input', 'output'], rows, signal);
  return groups && [...groups];
};

test('rows are equal by their fields, however they are written', async () => {
  const groups = await groupsOf([
    '{"input": "a", "output": "b"}',
    '',
    '{"output":"b","input":"\\u0061","note":"another field"}',
    '{"input": "ab", "output": ""}',
    '{"input": "a", "output": "c"}',
    '{"input": "a", "output": "b"}',
  ]);
  assert.equal(groups, [0, 0, 2, 3, 0]);
  assert.is(await groupsOf(['{"input": "a", "output": "b"}', '{"input": "b", "output": "a"}']), null);
  // More rows than the table of the first ones has places for, and every second one repeats the row before.
  const many = Array.from({ length: 5_000 }, (_, n) => JSON.stringify({ input: n >> 1, output: 'b' }));
  assert.equal(
    await groupsOf(many),
    many.map((_, n) => n - (n % 2)),
  );
});

test('nothing is read on once the client has left', async () => {
  const left = groupsOf(['{"input": "a", "output": "b"}'], AbortSignal.abort());
  assert.match(await left.then(String, (error) => error.message), 'The client left');
});

test('a group is drawn as a whole, and the number of rows is that which was asked for where groups allow it', () => {
  // 300 rows: 100 single ones, and 50 groups of four.
  const groups = Uint32Array.from({ length: 300 }, (_, n) => (n < 100 ? n : 100 + (n % 50)));
  const drawnBy = (seed: number) => drawGroups(groups, 30, seed);
  for (let seed = 0; seed < 20; seed += 1) {
    const drawn = drawnBy(seed);
    assert.is(drawn.filter(Boolean).length, 30);
    const sides = new Map<number, number>();
    for (const [row, isDrawn] of drawn.entries()) {
      const group = groups[row] as number;
      assert.is(sides.get(group) ?? isDrawn, isDrawn, `the rows of group ${group}`);
      sides.set(group, isDrawn);
    }
  }
  assert.equal(drawnBy(3), drawnBy(3));
  assert.not.equal(drawnBy(3), drawnBy(4));
  assert.is(drawGroups(new Uint32Array(4), 3, 1).filter(Boolean).length, 0, 'no group fits');
});

test.run();
