import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadAddon } from '../../src/native/addon.ts';
import { scanRows } from '../../src/native/scan-rows.ts';

const fields = ['input', 'output'];
const scan = (text: string, from = 0) => {
  const bytes = Buffer.from(text);
  return scanRows(bytes, from, bytes.length, fields);
};

/** What the scan promises of a line that it passes over. */
function isRow(line: string): boolean {
  try {
    const row = JSON.parse(line);
    return (
      typeof row === 'object' &&
      row !== null &&
      fields.every((name) => Object.hasOwn(row, name) && typeof row[name] === 'string') &&
      !Object.values(row).some((value) => /\p{Surrogate}/u.test(String(value)))
    );
  } catch {
    return false;
  }
}

test('the addon is there', () => assert.is.not(loadAddon().addon, null));

test('rows are skipped up to the first line that is invalid or incomplete', () => {
  const good = '{"input":"a","output":"b"}\n';
  assert.equal(scan(''), { rows: 0, offset: 0 });
  assert.equal(scan(good + good), { rows: 2, offset: 54 });
  assert.equal(scan(good + good, 27), { rows: 1, offset: 54 });
  assert.equal(scan(`${good}{"input":"a"}\n${good}`), { rows: 1, offset: 27 });
  assert.equal(scan(good + good.trimEnd()), { rows: 1, offset: 27 });
  assert.is(
    scan(' {\t"output" : "x\\u00e9\\n\\"ß" , "more":"" , "input":"long enough for words" } \r\n').rows,
    1,
  );
});

test('surrogate pairs are passed over, halves of them are not', () => {
  const row = (text: string) => `{"input":"${text}","output":"b"}\n`;
  for (const text of ['\\ud83d\\ude00', 'x\\uDBFF\\uDFFFx', '\\ud7ff\\ue000'])
    assert.is(scan(row(text)).rows, 1, text);
  for (const text of [
    '\\ud83d',
    '\\ude00',
    '\\ude00\\ud83d',
    '\\ud83d\\ud83d',
    '\\ud83dx',
    '\\ud83d\\u0041',
    '\\uD83D\\n',
  ])
    assert.is(scan(row(text)).rows, 0, text);
});

test('bounds outside the bytes are refused', () => {
  for (const [from, to] of [
    [0, 5],
    [-1, 1],
    [3, 2],
    [Number.NaN, 1],
  ] as const) {
    assert.throws(() => scanRows(Buffer.from('{}\n'), from, to, fields), /bounds/);
  }
});

test('every skipped row is valid for JSON.parse, too', () => {
  const seed = Number(process.env.HONE_SEED ?? 1);
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % below;
  };
  const models = [
    '{"input":"How do I \\"cancel\\"?","output":"Under \\u0041ccount,\\n then …"}',
    '{ "output": "b", "input": "", "note": "twelve words are more than eight bytes \\\\" }',
    '{"input":"a","output":"b","input":"c"}',
  ];
  const inserted = [
    '"',
    '\\',
    '{',
    '}',
    ',',
    ':',
    ' ',
    '\t',
    '\u0001',
    '\u007f',
    'x',
    '\\u12',
    '\\ud83d',
    '\\uDE00',
    '\\ud83d\\ude00',
    '1',
    'null',
    'é',
    '\r',
  ];
  let passed = 0;
  for (let round = 0; round < 20_000; round += 1) {
    let line = models[random(models.length)] as string;
    for (let change = random(4); change > 0; change -= 1) {
      const at = random(line.length + 1);
      line = line.slice(0, at) + (inserted[random(inserted.length)] as string) + line.slice(at + random(3));
    }
    if (scan(`${line}\n`).rows === 0) continue;
    passed += 1;
    assert.ok(isRow(line), `seed ${seed}: ${JSON.stringify(line)}`);
  }
  assert.ok(passed > 1_000, `${passed} lines were passed over`);
});

test.run();
