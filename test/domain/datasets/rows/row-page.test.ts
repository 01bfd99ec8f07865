import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readRowPage } from '../../../../src/domain/datasets/rows/pages/row-page.ts';
import { readLines } from '../../../../src/domain/datasets/rows/read-lines.ts';
import { temporaryFolder } from '../../../folders.ts';

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
  const first = await readRowPage(path, { from: 0, count: 3 });
  assert.equal(first, {
    rows: [{ n: 0 }, { n: 1 }, { line: 'no JSON' }],
    cut: [],
    lines: [1, 3, 4],
    next: 3,
    total: null,
    lengths: null,
    flagged: [],
  });
  const end = { cut: [], flagged: [], next: null, total: null, lengths: null };
  const page = (from: number, count: number) => readRowPage(path, { from, count });
  assert.equal(await page(3, 3), { ...end, rows: [{ n: 3 }], lines: [6] });
  assert.equal(await page(4, 3), { ...end, rows: [], lines: [] });
  assert.equal(await page(0, 0), { ...end, rows: [], lines: [], next: 0 });
});

test('a long row is shown in part, with every field, and marked', async () => {
  const row = { input: 'i'.repeat(100_000), output: 'o'.repeat(100_000), list: Array(100_000).fill(1) };
  const { rows, cut } = await readRowPage(fileOf([{ n: 0 }, row]), { from: 0, count: 10 });
  assert.equal(cut, [1]);
  const shown = rows[1] as typeof row;
  assert.equal(Object.keys(shown), ['input', 'output', 'list']);
  assert.match(shown.input, /^i+… \(100000 characters\)$/);
  assert.match(shown.output, /^o+… \(100000 characters\)$/);
  assert.ok(JSON.stringify(shown).length < 2 ** 15);
});

test('a text is not cut within a surrogate pair', async () => {
  for (const start of ['', 'x']) {
    const { rows } = await readRowPage(fileOf([{ text: start + '😀'.repeat(50_000) }]), {
      from: 0,
      count: 1,
    });
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
    const page = await readRowPage(path, { from, count: 200 });
    assert.ok(JSON.stringify(page.rows).length < 2 ** 20 + 2 ** 16, 'about a megabyte');
    assert.is(page.cut.length, page.rows.length, 'each is shown in part');
    count += page.rows.length;
    from = page.next;
  }
  assert.is(count, 103);
});

test('a page deep in a file is the same from the index as from the start, also when the file has changed', async () => {
  const rows = (count: number, name: string) =>
    Array.from({ length: count }, (_, n) =>
      n % 7 === 3 ? `\n \t${JSON.stringify({ [name]: n })}` : { [name]: n },
    );
  const path = fileOf(rows(5000, 'n'));
  const blanks = (number: number) => Math.floor((number + 3) / 7);
  for (const from of [4321, 999, 1000, 1001, 2999, 3000, 4999, 4321]) {
    const { rows: shown, lines, next } = await readRowPage(path, { from, count: 2 });
    assert.equal(shown, from === 4999 ? [{ n: 4999 }] : [{ n: from }, { n: from + 1 }]);
    assert.is(lines[0], from + 1 + blanks(from + 1), `the line of row ${from}`);
    assert.is(next, from >= 4998 ? null : from + 2);
  }
  assert.equal((await readRowPage(path, { from: 9000, count: 2 })).rows, []);
  writeFileSync(
    path,
    rows(3000, 'other')
      .map((row) => (typeof row === 'string' ? row : JSON.stringify(row)))
      .join('\n'),
  );
  assert.equal((await readRowPage(path, { from: 2500, count: 1 })).rows, [{ other: 2500 }]);
  assert.equal((await readRowPage(path, { from: 4321, count: 1 })).rows, []);
});

test('a search finds texts in values, however they are written, and goes on from page to page', async () => {
  const path = fileOf([
    { input: 'Straße', output: 'a "quoted" word' },
    '{"input":"caf\\u00c9","output":"https:\\/\\/x"}',
    { messages: [{ role: 'user', content: 'The CAFÉ is\nclosed' }] },
    'no JSON, but a café',
    '',
    { input: 'input', output: 7 },
    'x'.repeat(2 ** 24 + 100),
  ]);
  const found = async (search: string, from = 0, count = 10) => {
    const { lines, next, total } = await readRowPage(path, { from, count, search });
    return { lines, next, total };
  };
  const end = { next: null, total: null };
  assert.equal(await found('café'), { lines: [2, 3, 4], next: null, total: 3 });
  assert.equal(await found('café', 0, 1), { lines: [2], next: 2, total: null });
  assert.equal(await found('café', 2, 2), { ...end, lines: [3, 4] });
  assert.equal((await found('straße')).lines, [1]);
  assert.equal((await found('A "QUOTED"')).lines, [1]);
  assert.equal((await found('https://x')).lines, [2]);
  assert.equal((await found('is\nclosed')).lines, [3]);
  assert.equal((await found('input')).lines, [6], 'the name of a field is not searched');
  assert.equal((await found('7')).lines, [6]);
  assert.equal(await found('nowhere'), { lines: [], next: null, total: 0 });
  const left = await readRowPage(path, { from: 0, count: 9, search: 'nowhere', signal: AbortSignal.abort() });
  assert.is.not(left.next, null, 'it ends when nobody waits for it');
});

test('rows come by length, both ways, with their lines; equal ones stay in the order of the file', async () => {
  const texts = ['four', 'a', '', 'seventy', 'b', '"ö😀'];
  const path = fileOf(texts.map((text) => (text === '' ? text : { text, n: 12_345 })));
  const order = { longestFirst: true, tokens: null, model: null };
  const all = await readRowPage(path, { from: 0, count: 9, order });
  assert.equal(
    [all.lines, all.lengths],
    [
      [4, 1, 6, 2, 5],
      [7, 4, 4, 1, 1],
    ],
  );
  assert.equal([all.next, all.total, all.rows[1]], [null, 5, { text: 'four', n: 12_345 }]);
  const shortest = { ...order, longestFirst: false };
  const page = await readRowPage(path, { from: 2, count: 2, order: shortest });
  assert.equal([page.lines, page.lengths, page.next, page.total], [[1, 6], [4, 4], 4, 5]);
  // Of the rows that are looked for, and by the tokens of a model.
  const found = await readRowPage(path, { from: 0, count: 9, order: shortest, search: 'O' });
  assert.equal([found.lines, found.total], [[1], 1]);
  const counted = { ...order, tokens: [3, 9, 1, 2, 8], model: 'a' };
  const { lines, lengths } = await readRowPage(path, { from: 1, count: 2, order: counted });
  assert.equal(
    [lines, lengths],
    [
      [6, 1],
      [8, 3],
    ],
  );
  assert.equal((await readRowPage(path, { from: 0, count: 1, order })).lines, [4]);
  // Another file at this place is read again.
  rmSync(path);
  writeFileSync(path, `${JSON.stringify({ text: 'other' })}\nno row\n`);
  assert.equal((await readRowPage(path, { from: 0, count: 9, order })).lengths, [6, 5]);
});

test.run();
