/** Datasets of the hub: which files are taken, how they are downloaded, and what is told where that fails. */
import { execFileSync } from 'node:child_process';
import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readDescription } from '../api/description.ts';
import {
  endAll,
  type Json,
  root,
  startService,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { type LoopbackHub, startLoopbackHub } from './loopback.ts';
import { toStored } from './repositories.ts';

let service: TestService;
let hub: LoopbackHub;
let env: Record<string, string>;

/** Parquet files of 8 rows each, from number `from` on, with questions of about `length` characters. */
function parquet(from: number, length = 3000): Buffer {
  const path = join(temporaryFolder(), 'made.parquet');
  const program = `
import sys, pyarrow as pa, pyarrow.parquet as pq
rows = [{"question": f"Q{n}" + "x" * ${length}, "answer": f"A{n}"} for n in range(${from}, ${from} + 8)]
pq.write_table(pa.Table.from_pylist(rows), sys.argv[1], compression="none", use_dictionary=False)`;
  execFileSync(join(root, 'trainer', '.venv', 'bin', 'python'), ['-c', program, path]);
  return readFileSync(path);
}

test.before(async () => {
  hub = await startLoopbackHub();
  hub.accounts.set('hf_reader', { name: 'tester', role: 'read' });
  const [one, two] = [parquet(0), parquet(8)];
  const own = { 'README.md': Buffer.from('# own'), 'data/train-00000-of-00002.parquet': one };
  hub.addDataset('acme/own', {
    ...own,
    'data/train-00001-of-00002.parquet': two,
    'data/test-0.parquet': two,
  });
  const converted = hub.addDataset('acme/converted', { 'rows.csv': Buffer.from('a,b') });
  converted.revisions.set(
    'refs/convert/parquet',
    new Map(
      ['de/train/0000', 'en/train/0000', 'en/train/0001'].map((name, place) => [
        `${name}.parquet`,
        toStored(`${name}.parquet`, place === 1 ? one : two),
      ]),
    ),
  );
  hub.addDataset('acme/plain', { 'rows.csv': Buffer.from('a,b') });
  hub.addDataset('acme/gated', own, { gated: 'manual' });
  hub.addDataset('acme/large', { 'train-0.parquet': parquet(0, 1_000_000), 'train-1.parquet': two });
  env = { HF_ENDPOINT: hub.url, HF_HOME: temporaryFolder(), HUB_TOKEN: 'hf_reader', HF_HUB_OFFLINE: '0' };
  service = await startService({ env, limits: { hubBackoffMs: 1 } });
});
test.after(async () => {
  await endAll();
  await hub.close();
});

async function proposed(wanted: Json): Promise<Json> {
  const { status, body } = await service.call('POST', '/api/imports', { hub: wanted });
  assert.is(status, 200, JSON.stringify(body));
  return until(async () => {
    const record = (await service.call('GET', `/api/imports/${body.id}`)).body;
    return record.state === 'reading' ? null : record;
  }, 'the dataset has been downloaded');
}

test('configurations and splits are listed: those that the hub converted, else its own files', async () => {
  const description = await readDescription(service);
  const names = async (repo: string) => {
    const answer = await service.call('GET', `/api/hub/dataset?repo=${repo}`);
    description.check('GET', '/api/hub/dataset', answer);
    return answer.body.configs.map(({ name, splits }: Json) => [
      name,
      ...splits.map((split: Json) => `${split.name} ${split.files}`),
    ]);
  };
  assert.equal(await names('acme/own'), [['default', 'test 1', 'train 2']]);
  assert.equal(await names('acme/converted'), [
    ['de', 'train 1'],
    ['en', 'train 2'],
  ]);
});

test('a split is downloaded, on from where it broke off, and imported in the order of its files', async () => {
  hub.storage.faults.push({ match: /^GET/, times: 2, how: { cutAfterBytes: 10_000 } });
  const record = await proposed({ repo: 'acme/own' });
  assert.equal([record.state, record.error], ['proposed', null]);
  assert.equal(record.progress.done_bytes, record.progress.total_bytes);
  assert.equal(record.mapping.columns, { input: 'question', output: 'answer' });
  assert.ok(hub.storage.seen.length >= 4);
  assert.ok(
    hub.storage.seen.every(({ authorization }) => authorization === null),
    'the storage never gets the token',
  );
  await service.call('POST', `/api/imports/${record.id}/start`);
  const done = await until(async () => {
    const { body } = await service.call('GET', `/api/imports/${record.id}`);
    return body.state === 'running' ? null : body;
  }, 'the import ended');
  assert.equal([done.state, done.dataset], ['completed', 'own.jsonl'], JSON.stringify(done.error));
  const { body } = await service.call('GET', '/api/datasets/own.jsonl?rows=20');
  assert.equal(
    body.rows.map(({ output }: Json) => output),
    Array.from({ length: 16 }, (_, n) => `A${n}`),
  );
  assert.equal([body.import.source.kind, body.import.source.name], ['hub', 'acme/own']);
  assert.not(readdirSync(join(service.dataDir, 'datasets')).some((name) => name.startsWith('.')));
});

test('gated, missing and other datasets are told apart, before anything is downloaded', async () => {
  const faults: [Json, number, RegExp][] = [
    [{ repo: 'acme/gated' }, 403, /is gated\. Accept its license at/],
    [{ repo: 'acme/none' }, 403, /does not exist, or permission is denied/],
    [{ repo: 'acme/plain' }, 404, /no Parquet files, and the hub has not converted it/],
    [{ repo: 'acme/own', revision: 'v9' }, 404, /no revision "v9"/],
    [{ repo: 'acme/converted' }, 400, /needs one of its configs: de, en/],
    [{ repo: 'acme/own', split: 'dev' }, 400, /needs one of its splits: test, train/],
    [{ repo: 'own' }, 400, /owner\/name/],
    [{ repo: 'acme/own', branch: 'x' }, 400, /branch/],
  ];
  hub.storage.seen.length = 0;
  for (const [wanted, status, words] of faults) {
    const answer = await service.call('POST', '/api/imports', { hub: wanted });
    assert.is(answer.status, status, JSON.stringify([wanted, answer.body]));
    assert.match(answer.body.detail, words);
  }
  assert.equal(hub.storage.seen, []);
});

test('a download that keeps failing is told in the record, and one that hangs is cancelled', async () => {
  hub.storage.faults.length = 0;
  hub.storage.faults.push({ match: /^GET/, times: 9, how: { status: 404 } });
  const failed = await proposed({ repo: 'acme/converted', config: 'en' });
  assert.is(failed.state, 'failed');
  assert.match(failed.error.message, /en\/train\/0000\.parquet.* is not accessible/);
  hub.storage.faults.length = 0;
  hub.storage.faults.push({ match: /^GET/, times: 1, how: { hang: true } });
  const { body } = await service.call('POST', '/api/imports', { hub: { repo: 'acme/own' } });
  assert.is(body.state, 'reading');
  const asked = () => hub.storage.faults[0]?.times === 0;
  await until(asked, 'the download hangs');
  assert.is((await service.call('DELETE', `/api/imports/${body.id}`)).status, 200);
  await service.call('DELETE', `/api/imports/${failed.id}`);
  assert.not(readdirSync(join(service.dataDir, 'datasets')).some((name) => name.startsWith('.')));
});

test('a download goes on after the service has ended or was killed; what is damaged is fetched again', async () => {
  hub.storage.faults.length = 0;
  const dir = join(service.dataDir, 'datasets');
  const wanted = { repo: 'acme/large' };
  const left = () => readdirSync(dir).filter((name) => name.startsWith('.'));
  /** Ends the service when `bytes` more are here than the `kept` ones, and starts it again. */
  async function interrupt(kept: number, bytes: number, signal: NodeJS.Signals): Promise<void> {
    hub.storage.faults.push({ match: /^GET/, times: 1, how: { stallAfterBytes: bytes } });
    const { body } = await service.call('POST', '/api/imports', { hub: wanted });
    await until(async () => {
      const { progress } = (await service.call('GET', `/api/imports/${body.id}`)).body;
      return progress.done_bytes >= kept + bytes;
    }, 'a part is here');
    await service.end(signal);
    assert.is(left().length, 1);
    service = await startService({ dataDir: service.dataDir, env, limits: { hubBackoffMs: 1 } });
    assert.is(left().length, 1);
  }
  hub.storage.seen.length = 0;
  await interrupt(0, 5_000_000, 'SIGTERM');
  await interrupt(4_194_304, 2_400_000, 'SIGKILL');
  const record = await proposed(wanted);
  assert.equal([record.state, record.error], ['proposed', null]);
  assert.is(record.progress.done_bytes, record.progress.total_bytes);
  // Whole blocks of 2 MiB are kept.
  assert.equal(
    hub.storage.seen.map(({ range }) => range),
    [null, 'bytes=4194304-', 'bytes=6291456-', null],
  );
  await service.call('POST', `/api/imports/${record.id}/start`, { name: 'large.jsonl' });
  await until(async () => {
    const { body } = await service.call('GET', `/api/imports/${record.id}`);
    return body.state === 'completed';
  }, 'the import ended');
  const { body } = await service.call('GET', '/api/datasets/large.jsonl?rows=20');
  assert.is(body.num_examples, 16);
  assert.equal(left(), []);

  await interrupt(0, 5_000_000, 'SIGKILL');
  writeSync(openSync(join(dir, left()[0] as string, '00000.parquet'), 'r+'), 'damaged', 1_000_000);
  const damaged = await proposed(wanted);
  assert.is(damaged.state, 'failed');
  assert.match(damaged.error.message, /train-0\.parquet is not what the hub has.*Import the dataset again/);
  assert.is((await proposed(wanted)).state, 'proposed');
});

test.run();
