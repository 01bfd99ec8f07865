/** A disk that others fill to the last byte: the service starts, and what is deleted frees space. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { line, makeArtifacts, makeJobFolder } from '../jobs/made-folders.ts';
import { endAll, type Json, startService, supportRows, type TestService, until } from '../service.ts';
import { mountSmallDisk } from '../small-disk.ts';
import { readDescription } from './description.ts';

// What other tests have found out would be copied to the full disk.
delete process.env.HONE_TEST_DRY_RUNS;
const diskBytes = 96 * 2 ** 20;
const disk = mountSmallDisk(diskBytes);
const run = typeof disk === 'string' ? test.skip : test;
if (typeof disk === 'string') console.log(`  skipped: ${disk}`);

const row = `${JSON.stringify({ input: 'question '.repeat(100), output: 'answer' })}\n`;
/** About 10 MB. */
const rows = row.repeat(11_000);

test.after(async () => {
  await endAll();
  if (typeof disk !== 'string') disk.unmount();
});

/** Deletes what was stored, one after another. @returns the free space after each. */
async function deleteAll(service: TestService, freeBytes: () => number): Promise<number[]> {
  const free = [freeBytes()];
  const remove = async (path: string) => {
    const { status, body } = await service.call('DELETE', path);
    assert.is(status, 200, JSON.stringify(body));
    free.push(freeBytes());
  };
  for (const { filename } of (await service.call('GET', '/api/datasets')).body.datasets)
    await remove(`/api/datasets/${filename}`);
  for (const { id } of (await service.call('GET', '/api/models')).body.models)
    await remove(`/api/models/${id}`);
  for (const { job_id } of (await service.call('GET', '/api/jobs')).body.jobs)
    await remove(`/api/jobs/${job_id}`);
  // What was deleted once there was room for it.
  await remove('/api/bin');
  return free;
}

run('space is kept free, and on a full disk the service still starts, reads and deletes', async () => {
  if (typeof disk === 'string') return;
  const dataDir = disk.folder;
  for (const id of [1, 2]) {
    const job = makeJobFolder(dataDir, id, [line('hello'), line('artifact'), line('done')]);
    makeArtifacts(job);
    writeFileSync(join(job, 'artifacts', 'model-Q8_0.gguf'), Buffer.alloc(4e6));
    writeFileSync(join(job, 'checkpoint'), Buffer.alloc(4e6));
  }
  let service = await startService({ dataDir });
  const description = await readDescription(service);
  const count = async (path: string, what: string): Promise<number> =>
    (await service.call('GET', path)).body[what].length;
  await until(async () => (await count('/api/models', 'models')) === 2, 'the models are adopted');
  let refused: Json = null;
  for (let number = 0; refused === null; number += 1) {
    const answer = await service.upload(`rows-${number}.jsonl`, rows);
    if (answer.status !== 200) refused = answer;
  }
  description.check('POST', '/api/upload_dataset', refused);
  assert.is(refused.status, 507, JSON.stringify(refused.body));
  assert.match(
    refused.body.detail,
    /^The disk is nearly full: \d+ MB are free, of which 5 MB are kept free\./,
  );
  assert.ok(disk.freeBytes() >= diskBytes * 0.05, `${disk.freeBytes()} bytes are free`);
  const stored = await count('/api/datasets', 'datasets');
  assert.ok(stored >= 2);

  // While it runs.
  const filler = disk.fill();
  assert.is(disk.freeBytes(), 0);
  assert.is((await service.upload('small.jsonl', supportRows())).status, 507);
  assert.is((await service.call('DELETE', '/api/datasets/rows-0.jsonl')).status, 200);
  assert.ok(disk.freeBytes() >= 9e6, 'its space is free');
  await service.end('SIGKILL');

  // At its start, after a kill: with a WAL, an old lock and an old description of the instance.
  disk.fill();
  assert.is(disk.freeBytes(), 0);
  service = await startService({ dataDir });
  assert.is(await count('/api/datasets', 'datasets'), stored - 1);
  assert.equal([await count('/api/models', 'models'), await count('/api/jobs', 'jobs')], [2, 2]);
  const free = await deleteAll(service, disk.freeBytes);
  const last = free.at(-1) as number;
  assert.ok(last - (free[0] as number) > (stored - 1) * 9e6 + 12e6, `freed: ${free}`);
  assert.is((await service.upload('small.jsonl', supportRows())).status, 200);
  await service.end();

  // Once more, also after a clean end.
  rmSync(filler);
  service = await startService({ dataDir });
  assert.is(await count('/api/datasets', 'datasets'), 1);
  assert.is(await service.end(), 0);
  assert.not.ok(existsSync(join(dataDir, 'database', 'hone.sqlite-shm')), 'SQLite has to make it anew');
  disk.fill();
  assert.is(disk.freeBytes(), 0);
  service = await startService({ dataDir });
  assert.is((await service.call('DELETE', '/api/datasets/small.jsonl')).status, 200);
  assert.is(await count('/api/datasets', 'datasets'), 0);
});

test.run();
