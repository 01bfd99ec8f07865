import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readLines } from '../../../src/domain/datasets/read-lines.ts';
import { readRowPage } from '../../../src/domain/datasets/row-page.ts';
import { temporaryFolder } from '../../folders.ts';

function fileOf(lines: readonly (string | object)[]): string {
  const path = join(temporaryFolder(), 'rows.jsonl');
  writeFileSync(
    path,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  );
  return path;
}

test('lines are read whole or in part, wherever pieces of the file end', async () => {
  const lines = ['', 'a', 'ö'.repeat(150_000), '', 'x'.repeat(2 ** 18 - 1), 'end\u2028of line'];
  const path = fileOf(lines);
  const read: string[] = [];
  for await (const { text, isCut } of readLines(path, 2 ** 20)) {
    assert.is(isCut, false);
    read.push(text);
  }
  assert.equal(read, lines);
  const lengths: [number, boolean][] = [];
  for await (const { text, isCut } of readLines(path, 10)) lengths.push([text.length, isCut]);
  assert.equal(lengths, [
    [0, false],
    [1, false],
    [5, true],
    [0, false],
    [10, true],
    [8, true],
  ]);
});

test('rows come by page; blank lines are no rows, and other lines are shown as they are', async () => {
  const path = fileOf([{ n: 0 }, '', { n: 1 }, 'no JSON', ' \r', { n: 3 }]);
  const first = await readRowPage(path, 0, 3);
  assert.equal(first, { rows: [{ n: 0 }, { n: 1 }, { line: 'no JSON' }], cut: [], next: 3 });
  assert.equal(await readRowPage(path, 3, 3), { rows: [{ n: 3 }], cut: [], next: null });
  assert.equal(await readRowPage(path, 4, 3), { rows: [], cut: [], next: null });
  assert.equal(await readRowPage(path, 0, 0), { rows: [], cut: [], next: 0 });
});

test('a long row is shown in part, with every field, and marked', async () => {
  const row = { input: 'i'.repeat(100_000), output: 'o'.repeat(100_000), list: Array(100_000).fill(1) };
  const { rows, cut } = await readRowPage(fileOf([{ n: 0 }, row]), 0, 10);
  assert.equal(cut, [1]);
  const shown = rows[1] as typeof row;
  assert.equal(Object.keys(shown), ['input', 'output', 'list']);
  assert.match(shown.input, /^i+… \(100000 characters\)$/);
  assert.match(shown.output, /^o+… \(100000 characters\)$/);
  assert.ok(JSON.stringify(shown).length < 2 ** 15);
});

test('a text is not cut within a surrogate pair', async () => {
  for (const start of ['', 'x']) {
    const { rows } = await readRowPage(fileOf([{ text: start + '😀'.repeat(50_000) }]), 0, 1);
    assert.ok(/^x?(😀)+… /u.test((rows[0] as { text: string }).text));
  }
});

test('what would not fit into memory or an answer is bounded: long rows, long lines, deep rows', async () => {
  const megabyte = 'm'.repeat(2 ** 20);
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`field ${index}`, index]));
  const path = fileOf([
    ...Array(100).fill({ input: megabyte.slice(100), output: 'b' }),
    { input: megabyte },
    '['.repeat(200_000) + ']'.repeat(200_000),
    many,
  ]);
  let from: number | null = 0;
  let count = 0;
  while (from !== null) {
    const page = await readRowPage(path, from, 200);
    assert.ok(JSON.stringify(page.rows).length < 2 ** 20 + 2 ** 16, 'about a megabyte');
    assert.is(page.cut.length, page.rows.length, 'each is shown in part');
    count += page.rows.length;
    from = page.next;
  }
  assert.is(count, 103);
});

test.run();
