/** What the rows of a training are asked with, which the playground begins with. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readAskedWith } from '../../src/domain/job-record/asked-with.ts';
import type { Job } from '../../src/domain/job-record/job.ts';
import { temporaryFolder } from '../folders.ts';

const path = join(temporaryFolder(), 'rows.jsonl');
const read = (rows: readonly object[]) => {
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return readAskedWith({ spec: { dataset: { path } } } as unknown as Job);
};
const tool = (name: string, more: object = {}) => ({ type: 'function', function: { name, ...more } });
const row = (system: string | null, ...tools: object[]) => ({
  messages: [
    ...(system === null ? [] : [{ role: 'system', content: system }]),
    { role: 'user', content: 'Is it cold?' },
  ],
  tools,
});

test('it is the system prompt that rows have in common, and their tools, each name once', async () => {
  const weather = tool('weather', { parameters: { type: 'object' }, returns: 'degrees' });
  const found = await read([
    row('Be brief.', weather),
    row('Be brief.'),
    row('Be brief.', tool('clock'), weather),
  ]);
  assert.is(found.systemPrompt, 'Be brief.');
  assert.equal(JSON.parse(JSON.stringify(found.tools)), [
    tool('weather', { parameters: { type: 'object' } }),
    tool('clock'),
  ]);
  const many = await read([
    row(null, ...Array.from({ length: 40 }, (_, at) => tool(`t${at}`))),
    row('Other.'),
  ]);
  assert.equal([many.systemPrompt, many.tools.length], [null, 16]);
  assert.equal(await read([{ input: 'a', output: 'b' }]), { systemPrompt: null, tools: [] });
  const gone = { spec: { dataset: { path: `${path}.gone` } } } as unknown as Job;
  assert.equal(await readAskedWith(gone), { systemPrompt: null, tools: [] });
});

test.run();
