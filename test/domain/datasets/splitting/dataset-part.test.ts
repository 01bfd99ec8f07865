import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { datasetPart } from '../../../../src/domain/datasets/splitting/dataset-part.ts';
import { temporaryFolder } from '../../../folders.ts';

const path = join(temporaryFolder(), 'rows.jsonl');

async function partOf(
  part: 'training' | 'validation',
  rows: number,
  heldOut: number,
  seed = 42,
): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of datasetPart(path, { rows, heldOut, seed, part })) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test('the parts have exactly the rows, each once, as written and in their order', async () => {
  const long = 'ß'.repeat(200_000);
  const rows = Array.from(
    { length: 1000 },
    (_, n) => `{"n": ${n}, "t":"${n % 100 === 7 ? long : 'é\\u00e9'}"}`,
  );
  // Blank lines, spaces before a row, and no end of the last line.
  writeFileSync(
    path,
    `\n \r\n${rows.map((row, n) => (n % 50 === 3 ? ` \t${row}\n\n` : `${row}\n`)).join('')}`.trimEnd(),
  );
  const [training, validation] = [await partOf('training', 1000, 137), await partOf('validation', 1000, 137)];
  const numbers = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const row = JSON.parse(line);
        assert.is(line, rows[row.n]);
        return row.n as number;
      });
  const [one, other] = [numbers(training), numbers(validation)];
  assert.is(other.length, 137);
  for (const list of [one, other])
    assert.equal(
      list,
      [...list].sort((a, b) => a - b),
    );
  assert.equal(
    [...one, ...other].sort((a, b) => a - b),
    rows.map((_, n) => n),
  );
  assert.ok(training.endsWith('\n') && validation.endsWith('\n'));
  assert.is(await partOf('validation', 1000, 137), validation, 'the same seed draws the same rows');
  assert.is.not(await partOf('validation', 1000, 137, 43), validation);
  // Every tenth of the file has its share: 13.7 on average, and hardly ever less than 3 or more than 30.
  for (let tenth = 0; tenth < 10; tenth += 1) {
    const count = other.filter((n) => Math.floor(n / 100) === tenth).length;
    assert.ok(count >= 3 && count <= 30, `${count} of tenth ${tenth}`);
  }
});

test.run();
