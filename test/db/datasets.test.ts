import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { datasetFileId } from '../../src/db/tables/datasets.ts';
import { root, temporaryFolder } from '../folders.ts';

const row = (name: string, uploadedAt: string) => ({
  ...{
    name,
    uploadedAt,
    numExamples: 1,
    sizeBytes: 2,
    validation: { valid: true },
    formerNames: [],
    findings: null,
  },
});

test('a dataset is found by the ID of its file until it is replaced or removed', () => {
  const path = join(temporaryFolder(), 'hone.sqlite');
  const open = () => openStore(path, join(root, 'src', 'db', 'migrations')).datasets;
  const [old, kept] = [
    row('a.jsonl', '2026-01-01T00:00:00.000Z'),
    row('b.jsonl', '2026-01-02T00:00:00.000Z'),
  ];
  const first = open();
  first.put(old);
  assert.equal(first.getByFileId(datasetFileId(old)), old);
  first.put(kept);
  assert.equal(first.getByFileId(datasetFileId(kept)), kept);

  const replaced = row('a.jsonl', '2026-01-03T00:00:00.000Z');
  first.put(replaced);
  assert.is(first.getByFileId(datasetFileId(old)), null);
  assert.equal(first.getByFileId(datasetFileId(replaced)), replaced);
  first.remove('a.jsonl');
  assert.is(first.getByFileId(datasetFileId(replaced)), null);
  assert.is(first.getByFileId('file-none'), null);

  // Those of an earlier run are found, too.
  assert.equal(open().getByFileId(datasetFileId(kept)), kept);
});

test('a renamed dataset is found by its former names, unless another one has them, and keeps its ID', () => {
  const store = openStore(
    join(temporaryFolder(), 'hone.sqlite'),
    join(root, 'src', 'db', 'migrations'),
  ).datasets;
  const first = row('a.jsonl', '2026-01-01T00:00:00.000Z');
  store.put(first);
  const id = datasetFileId(first);
  assert.equal(store.getByFileId(id), first);
  store.rename('a.jsonl', 'b.jsonl');
  store.rename('b.jsonl', 'c.jsonl');
  const renamed = { ...first, name: 'c.jsonl', formerNames: ['a.jsonl', 'b.jsonl'] };
  assert.equal(
    [store.get('a.jsonl'), store.getByFormerName('a.jsonl'), store.getByFormerName('c.jsonl')],
    [null, renamed, null],
  );
  assert.equal([datasetFileId(renamed), store.getByFileId(id)], [id, renamed]);
  const second = row('a.jsonl', '2026-01-02T00:00:00.000Z');
  store.put(second);
  assert.is(store.getByFormerName('a.jsonl'), null);
  assert.equal(store.getByFormerName('b.jsonl'), renamed);
  assert.equal([store.getByFileId(id), store.getByFileId(datasetFileId(second))], [renamed, second]);
});

test('what was found in a dataset stays until its file is another one', () => {
  const path = join(temporaryFolder(), 'hone.sqlite');
  const open = () => openStore(path, join(root, 'src', 'db', 'migrations')).datasets;
  const first = row('a.jsonl', '2026-01-01T00:00:00.000Z');
  const store = open();
  store.put(first);
  assert.equal([store.analysis('a.jsonl'), store.get('a.jsonl')?.findings], [null, null]);
  store.keepAnalysis('a.jsonl', { version: '1', analysis: [7] }, 3);
  store.put(first);
  store.rename('a.jsonl', 'b.jsonl');
  const again = open();
  assert.equal(again.analysis('b.jsonl'), { version: '1', analysis: [7] });
  assert.is(again.get('b.jsonl')?.findings, 3);
  again.put(row('b.jsonl', '2026-01-02T00:00:00.000Z'));
  assert.equal([again.analysis('b.jsonl'), again.get('b.jsonl')?.findings], [null, null]);
});

test.run();
