import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../../src/db/store.ts';
import { createDatasets } from '../../../src/domain/datasets/datasets.ts';
import { freezeRows } from '../../../src/domain/datasets/training-data.ts';
import { createDatasetVersions } from '../../../src/domain/datasets/versions/dataset-versions.ts';
import { createFrameLog } from '../../../src/domain/events/frame-log.ts';
import { judgeValidation } from '../../../src/domain/training/judge-request.ts';
import { root, temporaryFolder } from '../../folders.ts';
import { binOf } from '../bin/bin-of.ts';

const rows = Array.from({ length: 12 }, (_, index) => `{"input":"a ${index}","output":"b"}\n`).join('');

async function withDataset() {
  const home = temporaryFolder();
  const dir = join(home, 'datasets');
  mkdirSync(dir);
  const store = openStore(join(home, 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const bin = binOf(
    store,
    createFrameLog(store, () => undefined),
    home,
  );
  const datasets = createDatasets(dir, store.datasets, { uploadsAtOnce: 2 }, bin);
  async function* pieces() {
    yield Buffer.from(rows);
  }
  await datasets.upload('a.jsonl', pieces());
  return { home, dir, datasets };
}

test('a dataset is the stored one by its name, its path, and a link to it', async () => {
  const { home, dir, datasets } = await withDataset();
  const link = join(home, 'link.jsonl');
  symlinkSync(join(dir, 'a.jsonl'), link);
  for (const reference of ['a.jsonl', join(dir, 'a.jsonl'), link]) {
    const { stored, path, numExamples, shape } = await datasets.forTraining(reference, null);
    assert.equal([stored, path, numExamples, shape], [true, join(dir, 'a.jsonl'), 12, 'input-output']);
  }
});

test('a file elsewhere is another one, and what is in no folder must be stored', async () => {
  const { home, datasets } = await withDataset();
  const other = join(home, 'a.jsonl');
  writeFileSync(other, rows);
  const { stored, path } = await datasets.forTraining(other, ['input-output']);
  assert.equal([stored, path], [false, other]);
  for (const [reference, words] of [
    ['b.jsonl', 'upload it first'],
    [join(home, 'b.jsonl'), 'check the path'],
  ] as const) {
    const error = await datasets.forTraining(reference, null).catch((thrown) => thrown);
    assert.is(error.kind, 'not_found');
    assert.match(error.message, words);
  }
});

test('a dataset that is deleted while its versions are found, or while it is compared with another, is not found', async () => {
  const { home, datasets } = await withDataset();
  const deletedOnceFound = async <T extends { path: string }>(finding: Promise<T>) => {
    const found = await finding;
    rmSync(found.path);
    return found;
  };
  const data = await datasets.forTraining('a.jsonl', null);
  const other = join(home, 'b.jsonl');
  writeFileSync(other, rows);
  const forTraining = (...asked: Parameters<typeof datasets.forTraining>) =>
    deletedOnceFound(datasets.forTraining(...asked));
  const file = (name: string) => deletedOnceFound(datasets.file(name));
  for (const ask of [
    () => judgeValidation(other, data, null, { ...datasets, forTraining }),
    () => createDatasetVersions({ ...datasets, file }, () => []).list('a.jsonl'),
  ]) {
    const error = await ask().catch((thrown) => thrown);
    assert.is(error.kind, 'not_found', error.message);
  }
});

test('a dataset that is deleted before its rows are kept for a run is not found', async () => {
  const { home, datasets } = await withDataset();
  const data = await datasets.forTraining('a.jsonl', null);
  await datasets.remove('a.jsonl');
  const target = join(home, 'rows.jsonl');
  const error = await freezeRows(data, target).catch((thrown) => thrown);
  assert.is(error.kind, 'not_found');
  assert.not(existsSync(target));
});

test.run();
