import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { drawGroups, equalRows } from '../../../../src/domain/datasets/splitting/equal-rows.ts';
import { temporaryFolder } from '../../../folders.ts';

const path = join(temporaryFolder(), 'rows.jsonl');
const groupsOf = (lines: readonly string[]) => {
  writeFileSync(path, lines.join('\n'));
  return equalRows(path, ['input', 'output']);
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
  assert.equal(groups, [0, 0, 1, 2, 0]);
  assert.is(await groupsOf(['{"input": "a", "output": "b"}', '{"input": "b", "output": "a"}']), null);
});

test('a group is drawn as a whole, and the number of rows is that which was asked for where groups allow it', () => {
  // 300 rows: 100 single ones, and 50 groups of four.
  const groups = [
    ...Array.from({ length: 100 }, (_, n) => n),
    ...Array.from({ length: 200 }, (_, n) => 100 + (n % 50)),
  ];
  const drawnBy = (seed: number) => drawGroups(groups, 30, seed);
  for (let seed = 0; seed < 20; seed += 1) {
    const drawn = drawnBy(seed);
    assert.is(drawn.filter(Boolean).length, 30);
    const sides = new Map<number, boolean>();
    for (const [row, isDrawn] of drawn.entries()) {
      const group = groups[row] as number;
      assert.is(sides.get(group) ?? isDrawn, isDrawn, `the rows of group ${group}`);
      sides.set(group, isDrawn);
    }
  }
  assert.equal(drawnBy(3), drawnBy(3));
  assert.not.equal(drawnBy(3), drawnBy(4));
  assert.is(drawGroups([0, 0, 0, 0], 3, 1).filter(Boolean).length, 0, 'no group fits');
});

test.run();
