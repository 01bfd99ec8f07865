/** Duplicates against a plain computation of the same definition. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findDuplicates } from '../../src/native/find-duplicates.ts';
import { temporaryFolder } from '../folders.ts';

const folder = temporaryFolder();
let count = 0;

function fileOf(lines: readonly (string | object)[]): string {
  const path = join(folder, `${++count}.jsonl`);
  writeFileSync(
    path,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  );
  return path;
}
const find = (path: string, changes: Partial<Parameters<typeof findDuplicates>[0]> = {}) =>
  findDuplicates({
    path,
    validation: null,
    fields: ['input', 'output'],
    answers: ['output'],
    onProgress: () => {},
    signal: new AbortController().signal,
    ...changes,
  });

/** Made-up sentences, the same each time. */
let state = 7;
const draw = (below: number) => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return (state >>> 8) % below;
};
const word = () =>
  Array.from({ length: 3 + draw(6) }, () => 'abcdefghijklmnopqrstuvwxyzäé漢'.charAt(draw(29))).join('');
const sentence = (words = 25) => Array.from({ length: words }, word);
const rowOf = (words: readonly string[]) => ({ input: words.join(' '), output: 'fine' });

/** The definition in `native/signature.h`. */
function similarity(one: object, other: object): number {
  const shingles = (row: object) => {
    const text = Object.values(row)
      .join('\n')
      .replace(/[ \n\t\r]+/g, ' ')
      .replace(/[A-Z]/g, (c) => c.toLowerCase());
    const bytes = Buffer.from(text.trim());
    return new Set(
      Array.from({ length: Math.max(1, bytes.length - 7) }, (_, at) => bytes.toString('hex', at, at + 8)),
    );
  };
  const [a, b] = [shingles(one), shingles(other)];
  const both = [...a].filter((each) => b.has(each)).length;
  return both / (a.size + b.size - both);
}

test('equal rows are found however they are written, and whatever else they have', async () => {
  const found = await find(
    fileOf([
      { input: 'a "b" é 😀\n', output: 'x' },
      '',
      '{"output":"x","input":"a \\"b\\" \\u00e9 \\ud83d\\ude00\\n","id":7,"more":{"a":[1,{"b":null}]}}',
      { input: 'a "b" é 😀', output: 'x' },
      { input: 'x', output: 'a "b" é 😀\n' },
      { output: 'x', input: 'a "b" é 😀\n' },
    ]),
  );
  assert.is(found.rows, 5);
  assert.is(found.exact, 2);
  assert.equal([found.padded, found.paddedLines], [4, [1, 3, 5, 6]]);
  assert.equal(found.groups, [{ lines: [1, 3, 6], text: 'a "b" é 😀\n\nx' }]);
});

test('conversations are compared by roles, contents, weights and tool calls', async () => {
  const turn = (content: string, more = {}) => ({ role: 'assistant', content, ...more });
  const user = { role: 'user', content: 'A question of some length, with an answer' };
  const call = (args: string) => ({ id: 'a', type: 'function', function: { name: 'f', arguments: args } });
  const fields = { fields: ['messages'], answers: [] };
  const found = await find(
    fileOf([
      { messages: [user, turn('yes')] },
      { messages: [{ content: user.content, name: 'x', role: 'user' }, turn('yes')] },
      { messages: [user, turn('yes', { weight: 0 }), turn('no, not at all')] },
      { messages: [user, turn('yes', { weight: 1 }), turn('no, not at all')] },
      { messages: [user, turn(' \n')] },
      { messages: [user, turn('', { weight: 0 }), turn('something else')] },
      { messages: [user, turn('', { tool_calls: [call('{}')] })] },
      { messages: [user, turn('', { tool_calls: [call('{"city":"Bern"}')] })] },
      { messages: [user, turn('', { tool_calls: [call('{}')] })] },
      { messages: [user, turn('', { tool_calls: [] }), turn('an answer of its own')] },
      { messages: [user, turn('yes')], tools: [{ type: 'function', function: { name: 'f' } }] },
    ]),
    fields,
  );
  assert.equal(
    found.groups.map(({ lines }) => lines),
    [
      [1, 2],
      [7, 9],
    ],
  );
  assert.equal([found.empty, found.emptyLines], [2, [5, 10]]);
  assert.equal([found.padded, found.paddedLines], [0, []], 'a blank text is an empty one');
});

test('near duplicates are those of the definition', async () => {
  const rows: { input: string; output: string }[] = [];
  const expected = new Set<number>();
  for (let n = 0; n < 400; n += 1) {
    const words = sentence();
    rows.push(rowOf(words));
    // Of some, a second one in which up to three words are replaced.
    if (n % 4 !== 0) continue;
    const places = draw(4);
    const changed = words.map((old, at) => (at < places ? word() : old));
    const row = n % 8 === 0 ? rowOf(changed) : { input: changed.join('\n ').toUpperCase(), output: 'fine' };
    const alike = similarity(rows.at(-1) as object, row);
    rows.push(row);
    if (alike >= 0.8 && alike < 1) expected.add(rows.length);
    if (alike === 1 && JSON.stringify(row) !== JSON.stringify(rows.at(-2))) expected.add(rows.length);
  }
  assert.ok(expected.size > 20 && expected.size < 90, `${expected.size} expected`);
  const found = await find(fileOf(rows));
  for (const { lines, similarity: told } of found.pairs) {
    const [one, other] = lines;
    assert.ok(Math.abs(told - similarity(rows[one - 1] as object, rows[other - 1] as object)) < 1e-9);
    assert.ok(told >= 0.8 && expected.has(other), `line ${other}`);
  }
  // Signatures of 64 places miss some of those near the limit.
  assert.ok(
    found.near >= 0.8 * expected.size && found.near <= expected.size,
    `${found.near} of ${expected.size}`,
  );
});

test('overlap counts the rows of the other file that are in this one, exactly or nearly', async () => {
  const own = Array.from({ length: 50 }, () => sentence());
  const other = Array.from({ length: 12 }, () => rowOf(sentence()));
  const [first, second] = own as [string[], string[]];
  const found = await find(fileOf(own.map(rowOf)), {
    validation: fileOf([...other, rowOf(first), other[0] as object, rowOf([...second, 'and'])]),
  });
  assert.equal([found.rows, found.exact, found.near], [50, 0, 0]);
  assert.equal([found.overlapExact, found.overlapNear], [1, 1]);
  assert.equal(found.overlapGroups[0]?.lines, [1, 13]);
  assert.equal(found.overlapPairs[0]?.lines, [2, 15]);
});

test('short, empty and long rows', async () => {
  const long = `ß漢 ${Array.from({ length: 1_700_000 }, (_, n) => n).join(' ')}`;
  const found = await find(
    fileOf([
      { input: '', output: '' },
      { input: '', output: '  ' },
      { input: 'a', output: 'b' },
      { input: 'A', output: 'b' },
      { input: long, output: 'b' },
      { input: `${long}.`, output: 'b' },
    ]),
  );
  assert.equal([found.exact, found.near, found.empty], [0, 2, 2]);
  const text = found.pairs.find(({ lines }) => lines[0] === 5)?.texts[0] ?? '';
  assert.ok(text.endsWith('…') && !text.includes('\ufffd') && Buffer.byteLength(text) < 410);
});

test('many equal rows take no longer than different ones', async () => {
  const row = rowOf(sentence());
  const found = await find(
    fileOf(Array.from({ length: 20_000 }, (_, n) => ({ ...row, output: `fine ${n % 10_000}` }))),
  );
  assert.is(found.exact, 10_000);
  assert.ok(found.near > 9_000, `${found.near}`);
});

test('it tells its progress, and can be cancelled', async () => {
  const path = fileOf(Array(60_000).fill(rowOf(sentence(40))));
  const control = new AbortController();
  const told: number[] = [];
  const onProgress = (done: number, total: number) => {
    assert.ok(done <= total);
    told.push(done);
    control.abort();
  };
  const ended = await find(path, { onProgress, signal: control.signal }).then(
    () => 'found',
    (error) => error.details.code,
  );
  assert.ok(told.length > 0);
  assert.ok(ended === 'cancelled' || ended === 'found', ended);
  const early = await find(path, { signal: AbortSignal.abort() }).catch((error) => error.details.code);
  assert.is(early, 'cancelled');
});

test('what is no row, or no file, is told', async () => {
  const refused = (path: string) =>
    find(path).then(
      () => '',
      ({ message }) => message as string,
    );
  const good = { input: 'a', output: 'b' };
  for (const bad of [
    '{"input":"a"',
    '[1]',
    '{"input":"\\ud83d"x',
    '{"input" "a"}',
    '{"input":tru e}',
    '{"a":1}}',
  ]) {
    assert.is(await refused(fileOf([good, bad, good])), 'Line 2 is not a row.', bad);
  }
  assert.is(await refused(fileOf([good, `{"input":${'['.repeat(100_000)}`])), 'Line 2 is not a row.');
  assert.is(await refused(fileOf([good, 'x'.repeat(2 ** 24 + 2 ** 21)])), 'Line 2 is not a row.');
  assert.match(await refused(join(folder, 'missing')), /missing|read|exist|No such/);
});

test.run();
