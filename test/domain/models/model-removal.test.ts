import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { derivedExport } from '../../../src/contract/derived-export.ts';
import { openStore } from '../../../src/db/store.ts';
import { createFrameLog, type Frame } from '../../../src/domain/events/frame-log.ts';
import { createModelRemoval } from '../../../src/domain/models/model-removal.ts';
import { createModels } from '../../../src/domain/models/models.ts';
import { root, temporaryFolder } from '../../folders.ts';
import { binOf } from '../bin/bin-of.ts';

/** A core with one model, whose folder holds an adapter. */
function setUp(reserved = '') {
  const folder = temporaryFolder();
  const store = openStore(join(folder, 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const published: Frame[] = [];
  const frames = createFrameLog(store, (frame) => published.push(frame));
  const bin = binOf(store, frames, folder);
  const models = createModels({
    ...{ store, frames, bin, modelsDir: folder },
    isReserved: (name) => name === reserved,
  });
  const path = join(folder, 'model');
  mkdirSync(join(path, 'adapter'), { recursive: true });
  writeFileSync(join(path, 'adapter', 'weights'), 'x');
  const { id } = models.insert({
    ...{ modelId: 'uuid', jobId: null, name: '', baseModel: 'a/b', datasetName: 'rows.jsonl', path },
    ...{ task: 'text-generation', provider: 'standard', strategy: 'sft', sizeBytes: 1 },
    ...{ createdAt: '2026-01-01T00:00:00.000Z', config: {}, metrics: {}, verification: null, artifacts: [] },
    ...{ export: derivedExport([]), displayName: 'Name', notes: '', tags: [] },
  });
  const train = (modelName: string) =>
    store.jobs.insert({
      ...{
        modelId: modelName,
        state: 'queued',
        task: 'text-generation',
        provider: 'standard',
        strategy: 'sft',
      },
      ...{ modelName, datasetName: 'rows.jsonl', createdAt: '2026-01-01T00:00:00.000Z' },
    });
  const remove = createModelRemoval({ store, models, bin, users: [] });
  return { store, published, models, path, reference: String(id), train, remove };
}

async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('It was not refused');
}

test('a model stays while an unfinished job trains on its folder or on one within, and no other', async () => {
  const { store, models, path, reference, train, remove } = setUp();
  for (const modelName of [path, join(path, 'adapter')]) {
    const job = train(modelName);
    assert.match(await refusal(remove(reference)), `train_${job}`);
    assert.ok(existsSync(join(path, 'adapter', 'weights')));
    store.jobs.update(job, { state: 'stopped' });
  }
  // One that it teaches.
  const taught = train('owner/student');
  const teacher = { name: 'Name', path: null, gguf: null, adapter: join(path, 'adapter') };
  store.jobs.update(taught, { spec: { teacher } });
  assert.match(await refusal(remove(reference)), `train_${taught}`);
  store.jobs.update(taught, { state: 'stopped' });
  train(`${path}-of-another`);
  assert.is((await remove(reference)).modelId, 'uuid');
  assert.not.ok(existsSync(path));
  assert.equal(models.list(), []);
  store.close();
});

test('its removal is told once it is stored, and there is nothing to remove twice', async () => {
  const { store, published, reference, remove } = setUp();
  await remove(reference);
  assert.equal(
    published.map(({ type, action, model_id }) => [type, action, model_id]),
    [['model', 'deleted', 'uuid']],
  );
  assert.match(await refusal(remove(reference)), 'There is no model');
  store.close();
});

test('a model gets no name that stands for something else', () => {
  const { store, models } = setUp('b-rows');
  const [first] = models.list();
  assert.ok(first);
  const { id: _, ...model } = first as NonNullable<typeof first>;
  assert.is(models.insert({ ...model, modelId: 'other', name: 'b-rows' }).name, 'b-rows-2');
  assert.is(models.isFree('b-rows'), false);
  store.close();
});

test.run();
