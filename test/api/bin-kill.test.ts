/** A service that is killed while something goes into the bin or out of it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { killedService } from '../killed-service.ts';
import { endAll, startService, temporaryFolder, until } from '../service.ts';
import { storeModel } from '../stored-model.ts';

test.after(endAll);

/** A data directory with a model of two files. @returns how it is reached, and its files but the one that describes it. */
async function withModel() {
  const dataDir = temporaryFolder();
  const service = await startService({ dataDir });
  await service.end();
  const { modelId, path } = storeModel(dataDir);
  mkdirSync(join(path, 'adapter'));
  writeFileSync(join(path, 'adapter', 'weights'), Buffer.from([0, 1, 255]));
  const files = () =>
    existsSync(path)
      ? readdirSync(path, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile() && !entry.name.startsWith('model.json'))
          .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'hex')])
      : null;
  return { dataDir, path: `/api/models/${modelId}`, files, whole: files() };
}

/** What a service finds that is started again. */
async function found(dataDir: string) {
  const service = await startService({ dataDir });
  const { entries } = (await service.call('GET', '/api/bin')).body;
  const { models } = (await service.call('GET', '/api/catalog')).body;
  return { service, ids: entries.map(({ id }: { id: string }) => id), models: models.length };
}
const binFolder = (dataDir: string) => {
  const dir = join(dataDir, 'bin');
  return existsSync(dir) ? readdirSync(dir) : [];
};

for (const moment of ['rename-before', 'rename-after'])
  test(`killed at a deletion (${moment}), a model is whole in the bin; at its restoration, in one place`, async () => {
    const { dataDir, path, files, whole } = await withModel();
    await killedService(dataDir, `${moment} bin`, ['DELETE', path]);
    let { service, ids, models } = await found(dataDir);
    assert.equal([ids.length, models, files()], [1, 0, null]);
    await service.end();

    await killedService(dataDir, `${moment} bin`, ['POST', `/api/bin/${ids[0]}/restore`]);
    ({ service, ids, models } = await found(dataDir));
    assert.equal([ids.length, models, files()], [1, 0, null], 'the restoration had not been stored');
    assert.is((await service.call('POST', `/api/bin/${ids[0]}/restore`)).status, 200);
    assert.equal(files(), whole);
    await service.end();
    ({ service, ids, models } = await found(dataDir));
    assert.equal([ids.length, models, binFolder(dataDir)], [0, 1, []]);
    await service.end();
  });

for (const moment of ['remove-before', 'remove-after'])
  test(`killed while the bin is emptied (${moment}), it is empty at the next start`, async () => {
    const { dataDir, path, files } = await withModel();
    const service = await startService({ dataDir });
    assert.is((await service.call('DELETE', path)).status, 200);
    await service.end();
    await killedService(dataDir, `${moment} bin`, ['DELETE', '/api/bin']);
    const after = await found(dataDir);
    assert.equal([after.ids, after.models, files()], [[], 0, null]);
    await until(() => binFolder(dataDir).length === 0, 'what was left is removed');
    await after.service.end();
  });

test('killed before the files of what is deleted for good are removed, it removes them at the next start', async () => {
  const { dataDir, path, files } = await withModel();
  await killedService(dataDir, 'remove-before model_checkpoints', ['DELETE', `${path}?permanently=true`]);
  assert.ok(files() !== null, 'they are still there');
  const { service, ids, models } = await found(dataDir);
  assert.equal([ids, models, files()], [[], 0, null]);
  await service.end();
});

test.run();
