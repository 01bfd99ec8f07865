/** A service that is killed while it changes a dataset: at the next start, its list tells what the files have. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { killedService } from '../killed-service.ts';
import { endAll, startService, supportRows, temporaryFolder } from '../service.ts';

test.after(endAll);

const rows = supportRows().trim().split('\n');

/** A data directory with a dataset. @returns its version, too, and what its folder has. */
async function withDataset() {
  const dataDir = temporaryFolder();
  const service = await startService({ dataDir });
  await service.upload('support.jsonl', supportRows());
  const { version } = (await service.call('GET', '/api/datasets/support.jsonl')).body;
  await service.end();
  const dir = join(dataDir, 'datasets');
  return {
    dataDir,
    version,
    dir,
    rowsOf: (name: string) => readFileSync(join(dir, name), 'utf8').trim().split('\n'),
  };
}

/** The names and rows of the datasets that a service lists that is started again. */
async function listed(dataDir: string) {
  const service = await startService({ dataDir });
  const { datasets } = (await service.call('GET', '/api/datasets')).body;
  await service.end();
  return datasets.map(({ filename, num_examples }: Record<string, unknown>) => [filename, num_examples]);
}

test('killed while rows are edited, it has the rows before or after, counts these, and leaves nothing else', async () => {
  const { dataDir, version, dir, rowsOf } = await withDataset();
  const deletion = ['PATCH', '/api/datasets/support.jsonl/rows', { version, deletions: [1, 2] }] as const;
  await killedService(dataDir, 'rename-before datasets', deletion);
  assert.is(readdirSync(dir).length, 2, 'the edited rows are aside');
  assert.equal(await listed(dataDir), [['support.jsonl', rows.length]]);
  assert.equal([readdirSync(dir), rowsOf('support.jsonl')], [['support.jsonl'], rows]);

  await killedService(dataDir, 'rename-after datasets', deletion);
  assert.equal(await listed(dataDir), [['support.jsonl', rows.length - 2]]);
  assert.equal([readdirSync(dir), rowsOf('support.jsonl')], [['support.jsonl'], rows.slice(2)]);
});

test('killed while it imports a dataset, it has all of its rows or none, and the source', async () => {
  const dataDir = temporaryFolder();
  const dir = join(dataDir, 'datasets');
  mkdirSync(dir, { recursive: true });
  const source = Array(12).fill(JSON.stringify({ question: 'U', reply: 'A' }));
  writeFileSync(join(dir, 'mine.jsonl'), `${source.join('\n')}\n`);
  const conversion = ['POST', '/api/datasets/mine.jsonl/convert'] as const;
  await killedService(dataDir, 'rename-before datasets', conversion);
  assert.is(readdirSync(dir).length, 3, 'the rows and the folder of the import are aside');
  await listed(dataDir);
  assert.equal(readdirSync(dir), ['mine.jsonl']);

  await killedService(dataDir, 'rename-after datasets', conversion);
  const names = (await listed(dataDir)).map(([name]: [string]) => name).sort();
  assert.equal(names, ['mine-converted.jsonl', 'mine.jsonl']);
  assert.equal(readdirSync(dir).sort(), names);
  assert.is(readFileSync(join(dir, 'mine-converted.jsonl'), 'utf8').trim().split('\n').length, source.length);
});

test('killed between the two parts of a split, it has none of them', async () => {
  const { dataDir, dir } = await withDataset();
  const split = ['POST', '/api/datasets/support.jsonl/split', { rows: 20 }] as const;
  await killedService(dataDir, 'rename-after datasets', split);
  assert.ok(
    readdirSync(dir).some((name) => name.startsWith('support-')),
    'one is in its place',
  );
  assert.equal(await listed(dataDir), [['support.jsonl', rows.length]]);
  assert.equal(readdirSync(dir), ['support.jsonl']);
});

test('killed while it renames a dataset, it lists it by the name that its file has', async () => {
  const { dataDir, dir } = await withDataset();
  const rename = ['PATCH', '/api/datasets/support.jsonl', { filename: 'tickets.jsonl' }] as const;
  await killedService(dataDir, 'rename-before datasets', rename);
  assert.equal(await listed(dataDir), [['support.jsonl', rows.length]]);
  await killedService(dataDir, 'rename-after datasets', rename);
  assert.equal(readdirSync(dir), ['tickets.jsonl']);
  const service = await startService({ dataDir });
  const { datasets } = (await service.call('GET', '/api/datasets')).body;
  assert.equal([datasets.length, datasets[0].num_examples], [1, rows.length]);
  const former = await service.call('GET', '/api/datasets/support.jsonl');
  assert.is(former.body.filename, 'tickets.jsonl', 'it is found by its former name');
  await service.end();
});

test.run();
