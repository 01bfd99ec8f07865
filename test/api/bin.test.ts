/** Everything that can be deleted, and how it comes back. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { makeRoom, reclaimableBytes } from '../../src/domain/machine/disk-room.ts';
import { findShortage } from '../../src/domain/training/estimate/disk-budget.ts';
import { supportRows, until } from '../client.ts';
import { root, temporaryFolder } from '../folders.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';
import { storeModel } from '../stored-model.ts';
import { storeRuns } from '../ui/stored-runs.ts';
import { storeSweep } from '../ui/stored-sweep.ts';

test.after(endAll);

const chat = {
  model_id: 'gone',
  turns: [{ id: 'a', after: '', prompt: 'Hi', answers: [] }],
};

/** A service that has one of each kind, and where each is read. */
async function withEverything() {
  const dataDir = temporaryFolder();
  const { modelId, path } = storeModel(dataDir);
  storeSweep(dataDir, 'owner/name');
  storeRuns(dataDir, [{ name: 'kept', steps: 30, lossAt: (step) => 1 / step, evaluations: { 20: 0.5 } }]);
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const subject = { name: 'tiny', baseModel: 'owner/name', modelId, jobId: null, checkpoint: null };
  store.evaluations.put(
    {
      ...{ id: 1, state: 'completed', subject, dataset: 'support.jsonl', rowsDigest: 'a1', shape: 'text' },
      ...{ rows: 1, figures: { loss: 0.1 + 0.2 }, warnings: [], error: null },
      ...{ createdAt: '2026-05-04T09:00:00.000Z', startedAt: null, endedAt: '2026-05-04T09:01:00.000Z' },
    },
    [{ line: 1, prompt: 'a', reference: null, rejected: null, answer: 'b', figures: {} } as { line: number }],
  );
  const job = store.jobs.newest() as { id: number };
  store.close();
  const folder = join(dataDir, 'jobs', `train_${job.id}`);
  mkdirSync(join(folder, 'checkpoints', 'step-30'), { recursive: true });
  writeFileSync(join(folder, 'checkpoints', 'step-30', 'weights'), Buffer.from([0, 1, 255]));
  const service = await openInside({ dataDir });
  await service.upload('support.jsonl', supportRows());
  await service.call('PUT', '/api/playground/chats/c1', chat);
  const run = `/api/jobs/train_${job.id}`;
  const places = [
    { kind: 'dataset', path: '/api/datasets/support.jsonl', reads: ['/api/datasets/support.jsonl'] },
    {
      kind: 'model',
      path: `/api/models/${modelId}`,
      reads: [`/api/models/${modelId}/lineage`, '/api/models'],
    },
    { kind: 'run', path: run, reads: [run, `${run}/metrics`] },
    { kind: 'evaluation', path: '/api/evaluations/eval_1', reads: ['/api/evaluations/eval_1'] },
    {
      kind: 'sweep',
      path: '/api/sweeps/sweep_1',
      reads: ['/api/sweeps/sweep_1', '/api/jobs/train_1/metrics'],
    },
    { kind: 'chat', path: '/api/playground/chats/c1', reads: ['/api/playground/chats/c1'] },
  ];
  return { service, dataDir, places, modelFolder: path, jobFolder: folder };
}

/** The files of a data directory that are not the database's, by the digests of their bytes. */
const filesOf = (dataDir: string) =>
  Object.fromEntries(
    ['datasets', 'model_checkpoints', 'jobs', 'evaluations'].flatMap((part) =>
      readdirSync(join(dataDir, part), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
    ),
  );
const readAll = async (service: InsideService, reads: readonly string[]) => {
  const found = [];
  for (const path of reads) {
    const { status, body } = await service.call('GET', path);
    assert.is(status, 200, path);
    found.push(body);
  }
  return found;
};
const binOf = async (service: InsideService) => (await service.call('GET', '/api/bin')).body;

test('each kind is deleted, survives a restart in the bin, and comes back byte for byte', async () => {
  let { service, dataDir, places } = await withEverything();
  const files = filesOf(dataDir);
  const before = new Map<string, unknown>();
  for (const { path, reads } of places) before.set(path, await readAll(service, reads));
  for (const { kind, path, reads } of places) {
    const { status, body } = await service.call('DELETE', path);
    assert.is(status, 200, path);
    assert.is((await service.call('GET', reads[0] as string)).status, 404, path);
    assert.is((await service.call('DELETE', path)).status, 404, path);
    const [entry] = (await binOf(service)).entries;
    assert.is(entry.kind, kind);
    assert.is(entry.id, body.bin_id);
    assert.ok(entry.size_bytes > 0, kind);
    assert.is(Date.parse(entry.expires_at) - Date.parse(entry.deleted_at), 7 * 24 * 3_600_000);
  }
  assert.equal(Object.keys(filesOf(dataDir)), []);
  await service.end();
  service = await openInside({ dataDir });
  const { entries } = await binOf(service);
  assert.is(entries.length, places.length);
  for (const { id } of entries) {
    const { status, body } = await service.call('POST', `/api/bin/${id}/restore`);
    assert.is(status, 200, body.detail);
    assert.is((await service.call('POST', `/api/bin/${id}/restore`)).status, 404);
  }
  for (const { path, reads } of places) assert.equal(await readAll(service, reads), before.get(path), path);
  const { [join(dataDir, 'jobs', 'sweep_1.json')]: sweep, ...others } = filesOf(dataDir);
  assert.ok(sweep);
  assert.equal(others, files);
  assert.equal(readdirSync(join(dataDir, 'bin')), []);
  await service.end();
});

test('a name that was taken again is not replaced', async () => {
  const service = await openInside();
  await service.upload('support.jsonl', supportRows());
  await service.call('DELETE', '/api/datasets/support.jsonl');
  const [{ id }] = (await binOf(service)).entries;
  await service.upload('support.jsonl', supportRows().slice(0, 4_000));
  const { status, body } = await service.call('POST', `/api/bin/${id}/restore`);
  assert.is(status, 409);
  assert.match(body.detail, 'Rename or delete that one first');
  await service.call('PATCH', '/api/datasets/support.jsonl', { filename: 'other.jsonl' });
  assert.is((await service.call('POST', `/api/bin/${id}/restore`)).status, 200);
  assert.is(readFileSync(join(service.dataDir, 'datasets', 'support.jsonl'), 'utf8'), supportRows());
  await service.end();
});

test('what is deleted for good is gone at once, from the route, the bin and all of it', async () => {
  const { service, dataDir, places } = await withEverything();
  const [first, second, ...others] = places.map(({ path }) => path) as [string, string, ...string[]];
  const { body } = await service.call('DELETE', `${first}?permanently=true`);
  assert.is(body.bin_id, null);
  assert.is((await service.call('DELETE', `${second}?permanently=yes`)).status, 400);
  for (const path of [second, ...others]) await service.call('DELETE', path);
  const { entries } = await binOf(service);
  assert.is(entries.length, places.length - 1);
  assert.is((await service.call('DELETE', `/api/bin/${entries[0].id}`)).status, 200);
  assert.is((await service.call('DELETE', `/api/bin/${entries[0].id}`)).status, 404);
  assert.is((await service.call('DELETE', '/api/bin')).status, 200);
  assert.equal((await binOf(service)).entries, []);
  assert.equal(Object.keys(filesOf(dataDir)), []);
  assert.equal(readdirSync(join(dataDir, 'bin')), []);
  await service.end();
});

test('the oldest gives way when the bin is full, and what is larger than the bin is not kept', async () => {
  const service = await openInside({ limits: { binBytes: 100_000 } });
  const rows = (bytes: number) => supportRows().repeat(10).slice(0, bytes);
  for (const [name, bytes] of [
    ['a', 50_000],
    ['b', 40_000],
    ['c', 30_000],
    ['d', 110_000],
  ] as const) {
    await service.upload(`${name}.jsonl`, rows(bytes));
    const { body } = await service.call('DELETE', `/api/datasets/${name}.jsonl`);
    assert.is(body.bin_id === null, name === 'd');
  }
  const { entries, size_bytes, limit_bytes } = await binOf(service);
  assert.equal(
    entries.map(({ name }: { name: string }) => name),
    ['c.jsonl', 'b.jsonl'],
  );
  assert.ok(size_bytes <= limit_bytes);
  assert.is(limit_bytes, 100_000);
  await service.end();
});

test('what the bin cannot keep is refused where it must not be deleted for good, and stays', async () => {
  const service = await openInside({ limits: { binBytes: 100_000 } });
  const rows = supportRows().repeat(10).slice(0, 110_000);
  await service.upload('large.jsonl', rows);
  const path = '/api/datasets/large.jsonl';
  const { status, body } = await service.call('DELETE', `${path}?permanently=false`);
  assert.is(status, 507);
  assert.match(
    body.detail,
    /it has 0 MB, and the bin has room for 0 MB\. It can only be deleted for good\.$/,
  );
  assert.is((await service.call('GET', path)).status, 200);
  await service.upload('small.jsonl', rows.slice(0, 50_000));
  const kept = await service.call('DELETE', '/api/datasets/small.jsonl?permanently=false');
  assert.is(kept.body.bin_id, (await binOf(service)).entries[0].id);
  await service.end();
});

test('the bin counts as free space, and gives way only where that is enough', async () => {
  const service = await openInside();
  const { dataDir } = service;
  assert.is(reclaimableBytes(dataDir), 0);
  await service.upload('support.jsonl', supportRows());
  await service.call('DELETE', '/api/datasets/support.jsonl');
  const reclaimable = reclaimableBytes(dataDir);
  assert.is(reclaimable, (await binOf(service)).size_bytes);
  assert.ok(reclaimable >= supportRows().length);

  const need = {
    downloadBytes: 0,
    checkpointsBytes: 0,
    teacherBytes: 0,
    exportBytes: 2 ** 60,
    spareBytes: 0,
    totalBytes: 2 ** 60,
  };
  const shortage = async (more: number) => await findShortage(need, dataDir, dataDir, 0, more);
  assert.is(await shortage(2 ** 60), null);
  const { freeBytes = 0 } = (await shortage(2 ** 50)) ?? {};
  assert.ok(freeBytes > 2 ** 50);

  await makeRoom(dataDir, reclaimable + 1);
  assert.is((await binOf(service)).entries.length, 1, 'all of it would not be enough');
  // Another process may free as much of the disk just then.
  await until(async () => {
    await makeRoom(dataDir, 1);
    return reclaimableBytes(dataDir) === 0;
  }, 'the bin has given way');
  await service.end();
});

test('what has been in the bin for its time is deleted for good at the next start', async () => {
  let { service, dataDir, places } = await withEverything();
  for (const { path } of places) await service.call('DELETE', path);
  await service.end();
  service = await openInside({ dataDir, limits: { binMs: 0 } });
  assert.equal((await binOf(service)).entries, []);
  await service.end();
});

test.run();
