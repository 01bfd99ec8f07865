/** A model's process that hangs inside llama.cpp, and still answers: its request is told after a time. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findEngineLibrary } from '../../src/native/engine-library.ts';
import { childrenOf } from '../children.ts';
import { preloading, shim } from '../native/fake/build.ts';
import { endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { type StoredModel, storeModel } from '../stored-model.ts';

const folder = temporaryFolder();
const hang = join(folder, 'hang');
let service: TestService;
let model: StoredModel;

if (process.platform === 'linux') {
  test.before(async () => {
    const dataDir = temporaryFolder();
    model = storeModel(dataDir, 'first');
    service = await startService({
      dataDir,
      // Long enough for the process to start on a busy machine.
      limits: { engineStallMs: 20_000 },
      env: {
        ...{ LD_PRELOAD: preloading(shim('hang', folder)), HONE_TEST_HANG: hang },
        HONE_TEST_LIBLLAMA: findEngineLibrary().llama,
      },
    });
  });
  test.after(endAll);

  const ask = () =>
    service.call('POST', '/api/playground/new', {
      ...{ model_id: model.modelId, prompt: 'ab', max_length: 4, temperature: 0 },
    });
  /** The processes that run models, of this service. */
  const children = () => childrenOf(service.process.pid, 'inference-worker.js');

  test('an evaluation without progress is ended and told; the next one works; its model can be deleted', async () => {
    const before = await ask();
    assert.is(before.status, 200, JSON.stringify(before.body));
    writeFileSync(hang, '');
    const [hung] = children();
    const told = await ask();
    assert.is(told.status, 503, JSON.stringify(told.body));
    assert.match(JSON.stringify(told.body), 'made no progress for 20 s and was ended');
    assert.not.ok(children().includes(hung as number), 'the process is gone');
    rmSync(hang);
    assert.is((await ask()).status, 200);
    writeFileSync(hang, '');
    assert.ok((await ask()).status >= 400);
    const deleted = await service.call('DELETE', `/api/models/${model.id}`);
    assert.is(deleted.status, 200, JSON.stringify(deleted.body));
    assert.not(existsSync(model.path));
  });
}

test.run();
