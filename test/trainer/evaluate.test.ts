/** What the folder of an evaluation holds. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { cleanFolder, isPrepared, modelIn, readResults, writeOrder } from '../../src/trainer/evaluate.ts';
import { temporaryFolder } from '../folders.ts';

test('a folder is prepared with its order, and cleaning it leaves what a process starts from', async () => {
  const folder = temporaryFolder();
  const write = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value));
  const adapter = { path: '/a', base: 'b', base_path: null };
  write('spec.json', { model: { name: 'm', path: null, adapter }, settings: {} });
  write('dataset.jsonl', {});
  assert.is(isPrepared(folder), false);
  await writeOrder(folder, { adapter: null, template: null, kept_rows: 2, graders: {} });
  assert.is(isPrepared(folder), true);
  assert.equal(modelIn(folder), { name: 'm', path: null, adapter });
  assert.throws(() => readResults(folder));
  const row = { line: 1, prompt: 'p', reference: null, rejected: null, answer: null, figures: { loss: 1 } };
  write('rows.json', [row]);
  assert.equal(readResults(folder), [row]);
  await cleanFolder(folder);
  assert.equal(readdirSync(folder).sort(), ['dataset.jsonl', 'evaluate.json', 'spec.json']);
});

test.run();
