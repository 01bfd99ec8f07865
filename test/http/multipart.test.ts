/** Forms with a file: every byte of it arrives, wherever the boundary falls and whatever stands around it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, type InsideService, openInside } from '../inside-service.ts';

let service: InsideService;
/** The size in which a form is read (src/http/multipart.ts). */
const pieceBytes = 2 ** 19;
const boundary = 'edge';
const row = `${JSON.stringify({ input: 'i'.repeat(300), output: 'ö' })}\r\n`;
const rows = (count: number) => row.repeat(count);
const part = (content: string, disposition = 'name="file"; filename="rows.jsonl"', more = '') =>
  `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${content}\r\n`;
const end = `--${boundary}--\r\n`;

test.before(async () => {
  service = await openInside({ limits: { uploadBytes: 2 ** 21 } });
});
test.after(endAll);

async function send(body: string, type = `multipart/form-data; boundary=${boundary}`) {
  const response = await fetch(`${service.url}/api/upload_dataset`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: Buffer.from(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}
const stored = (name = 'rows.jsonl') => readFileSync(join(service.dataDir, 'datasets', name), 'utf8');

test('a boundary may lie across two pieces at any of its bytes', async () => {
  const around = Buffer.byteLength(part(''));
  for (let shift = -4; shift <= boundary.length + 8; shift += 1) {
    const bytes = pieceBytes - around + shift;
    const count = Math.floor(bytes / Buffer.byteLength(row)) - 1;
    const content = rows(count) + ' '.repeat(bytes - count * Buffer.byteLength(row));
    const answer = await send(part(content) + end);
    assert.is(answer.status, 200, JSON.stringify(answer));
    assert.is(Number(answer.body.num_examples), count);
    assert.ok(stored() === content, `${shift} bytes past the piece`);
  }
});

test('what only resembles the boundary is content', async () => {
  const almost = JSON.stringify({ input: `--${boundary}`, output: '' });
  const lines = [`\r\n-`, `\r\n--edg`, `\n--${boundary}`, `\r\n--Edge--`, `\r`, `\r\r\n--edg\r\n`];
  for (const near of lines) {
    const before = pieceBytes - Buffer.byteLength(part('')) + 2;
    const head = rows(Math.floor(before / Buffer.byteLength(row)));
    const content = head + ' '.repeat(before - Buffer.byteLength(head) - 3) + near + rows(20) + almost;
    const answer = await send(part(content) + end);
    assert.is(answer.status < 500, true);
    // Rows that are wrong are told of; the file has its bytes all the same, or is not there.
    assert.ok(stored() === content, JSON.stringify(near));
  }
});

test('other parts may stand before and after the file, and something before the form', async () => {
  const field = part('a note', 'name="note"');
  const other = part(rows(3), 'name="other"; filename="other.jsonl"');
  for (const body of [
    field + part(rows(20)) + end,
    other + part(rows(20)) + end,
    part(rows(20)) + field + end,
    `To whom it may concern\r\n${part(rows(20))}${end}and so on`,
  ]) {
    const answer = await send(body);
    assert.is(answer.status, 200, JSON.stringify(answer));
    assert.ok(stored() === rows(20));
  }
});

test('the name may be quoted, encoded or in letters of any alphabet', async () => {
  const names: [string, string][] = [
    ['filename="größe.jsonl"', 'größe.jsonl'],
    [`filename*=utf-8''na%C3%AFve.jsonl`, 'naïve.jsonl'],
    ['filename=plain.jsonl', 'plain.jsonl'],
    ['filename="C:\\\\data\\\\mine.jsonl"', 'mine.jsonl'],
    ['filename="../../up.jsonl"', 'up.jsonl'],
  ];
  for (const [filename, name] of names) {
    const answer = await send(part(rows(20), `name="file"; ${filename}`));
    assert.is(answer.status, 400, 'a form without its end');
    const whole = await send(part(rows(20), `name="file"; ${filename}`) + end);
    assert.is(whole.status, 200, JSON.stringify(whole));
    assert.ok(stored(name) === rows(20));
  }
  const quoted = await send(part(rows(20)) + end, `multipart/form-data; boundary="${boundary}"`);
  assert.is(quoted.status, 200);
});

test('forms that cannot be read leave nothing, and say what is wrong', async () => {
  const before = readdirSync(join(service.dataDir, 'datasets')).sort();
  const bad: [string, string, string?][] = [
    ['', 'does not begin with its boundary'],
    [end, 'no file part'],
    [part('a note', 'name="note"') + end, 'no file part'],
    [part('a note', 'name="note"').slice(0, -9), 'no file part'],
    [part(rows(20)), 'ends before its last boundary'],
    [part(rows(2000)), 'ends before its last boundary'],
    [`${part(rows(20))}--${boundary}\r\n`, 'ends before its last boundary'],
    [part(rows(20)) + part('x'.repeat(700_000), 'name="note"') + end, 'follow the file'],
    [part(rows(20)) + end, 'names no boundary', 'multipart/form-data; boundary='],
    [part(rows(20)) + end, 'names no boundary', `multipart/form-data; boundary=${'b'.repeat(71)}`],
    [part(rows(20)) + end, 'names no boundary', 'multipart/form-data; charset=utf-8'],
    [part(rows(20)) + end, 'multipart/form-data with a part', 'multipart/mixed; boundary=edge'],
  ];
  for (const [body, words, type] of bad) {
    const answer = await send(body, type);
    assert.is(answer.status, 400, words);
    assert.match(answer.body.detail ?? '', words);
  }
  assert.equal(readdirSync(join(service.dataDir, 'datasets')).sort(), before);
});

test.run();
