import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { type Field, type JournalLine, journalLines, type LineType } from '../../src/contract/journal.ts';
import { readJournal } from '../../src/trainer/journal.ts';
import { journalLine } from '../../src/trainer/protocol.ts';
import { root, temporaryFolder } from '../folders.ts';

const goldenPath = join(root, 'test', 'contract', 'journal.golden.jsonl');
const golden = readFileSync(goldenPath, 'utf8').trimEnd().split('\n');
const path = join(temporaryFolder(), 'journal.jsonl');
const never = (text: string, reason: string): void => {
  throw new Error(`${reason}: ${text}`);
};

async function readAll(onBadLine = never): Promise<{ lines: JournalLine[]; chunks: JournalLine[][] }> {
  const chunks: JournalLine[][] = [];
  for (let offset = 0; ; ) {
    const chunk = await readJournal(path, offset, onBadLine);
    if (chunk.offset === offset) return { lines: chunks.flat(), chunks };
    chunks.push(chunk.lines);
    offset = chunk.offset;
  }
}

/** A golden line with null for each nullable field that it lacks. */
function complete(text: string): unknown {
  const line = JSON.parse(text);
  const fields = Object.entries(journalLines[line.type as LineType] as Readonly<Record<string, Field>>);
  const nullable = fields.filter(([, field]) => typeof field === 'string' && field.endsWith('?'));
  return { ...Object.fromEntries(nullable.map(([name]) => [name, null])), ...line };
}

test('the golden journal has every type of line, and each keeps all of its fields', () => {
  const parsed = golden.map((line) => v.parse(journalLine, JSON.parse(line)));
  assert.equal(parsed, golden.map(complete));
  const kinds = new Set(parsed.map(({ type }) => type));
  assert.is(kinds.size, Object.keys(journalLines).length);
});

test('a journal that is not there yet is empty', async () => {
  assert.equal(await readJournal(`${path}.none`, 0, never), { lines: [], offset: 0 });
});

test('a line is read once, and not before its newline has come', async () => {
  const line = `${golden[0]}\n`;
  writeFileSync(path, '');
  let offset = 0;
  const seen: JournalLine[] = [];
  for (const character of line + line) {
    appendFileSync(path, character);
    const chunk = await readJournal(path, offset, never);
    seen.push(...chunk.lines);
    offset = chunk.offset;
  }
  assert.is(seen.length, 2);
  assert.is(offset, Buffer.byteLength(line + line));
});

test('the line that ends a job comes in a chunk of its own', async () => {
  writeFileSync(path, `${golden.join('\n')}\n${golden.join('\n')}\n`);
  const { lines, chunks } = await readAll();
  assert.is(lines.length, 2 * golden.length);
  const ending = chunks.filter((chunk) => chunk.some(({ type }) => type === 'done' || type === 'failed'));
  assert.equal(
    ending.map((chunk) => chunk.length),
    [1, 1, 1, 1],
  );
});

test('bad lines are told and skipped', async () => {
  writeFileSync(
    path,
    `nonsense\n${golden[0]}\n{"type":"metric","step":NaN}\n{"seq":1,"time":"x","type":"dance"}\n\n${golden[1]}\n`,
  );
  const bad: string[] = [];
  const { lines } = await readAll((text) => bad.push(text));
  assert.is(lines.length, 2);
  assert.is(bad.length, 3);
});

test.run();
