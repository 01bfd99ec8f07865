/** A service that is killed during an export at a strength of the adapter: the former files stay, or all are of the new one. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { letGo, littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
  untilEnded,
} from '../service.ts';

const dataDir = temporaryFolder();
const env = littleInstallation('export-fails');
let service: TestService;
let modelId: string;

test.before(async () => {
  service = await startService({ dataDir, env });
  await service.upload('support.jsonl', supportRows());
  await service.call('POST', '/api/finetune/start_training', quickRequest());
  await untilEnded(service);
  modelId = (await service.call('GET', '/api/jobs/train_1')).body.model_id;
  await choose({ quantizations: ['Q8_0', 'F16'] });
  go('all');
  await until(async () => (await exported()).underway === null, 'it has its first files');
});
test.after(endAll);

const folder = () => join(dataDir, 'exports', modelId);
const go = (how: string) => letGo(folder(), how);
const exported = async (): Promise<Json> => (await service.call('GET', `/api/models/${modelId}/export`)).body;
/** Begins an export, and waits until it works. */
async function choose(body: object): Promise<void> {
  assert.is((await service.call('POST', `/api/models/${modelId}/export`, body)).status, 202);
  await until(async () => (await exported()).underway?.phase, 'it works');
}
/** The files of the model, but for the one that describes it. */
const files = () =>
  Object.fromEntries(
    readdirSync(join(dataDir, 'model_checkpoints', modelId), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'model.json')
      .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'utf8')]),
  );

/** Exports at a strength by a service that is killed at a moment (`kill-at.mjs`), and starts the service again. */
async function killedAt(moment: string, strength: number): Promise<void> {
  await service.end();
  const preload = pathToFileURL(join(root, 'test', 'kill-at.mjs')).href;
  const killed = { NODE_OPTIONS: `--import=${preload}`, HONE_TEST_KILL: moment };
  service = await startService({ dataDir, env: { ...env, ...killed } });
  await choose({ strength });
  go('all');
  await until(() => service.process.signalCode !== null, moment);
  await service.end();
  service = await startService({ dataDir, env });
}

test('killed before all is there, the service finds the former files', async () => {
  const before = files();
  await killedAt('rename-before exports', 0.5);
  assert.equal(files(), before);
  const { chosen, underway } = await exported();
  assert.equal([chosen, underway, existsSync(folder())], [undefined, null, false]);
});

for (const [moment, strength] of [
  ['rename-before chosen', 0.25],
  ['rename-after chosen', 0.5],
  ['remove-after model_checkpoints', 0.75],
] as const)
  test(`killed while the new files come into place (${moment}), it goes on with that`, async () => {
    await killedAt(moment, strength);
    const {
      'model-F16.gguf': f16 = '',
      'model-Q8_0.gguf': q8 = '',
      'adapter_config.json': adapter,
    } = files();
    for (const text of [f16, q8]) assert.match(text, `--strength ${strength}`);
    assert.match(adapter ?? '', `${strength}`);
    const { chosen, files: told } = await exported();
    assert.equal(chosen, { strength, checkpoint: null });
    assert.equal(
      told.map(({ bytes }: Json) => bytes),
      [5, 5],
    );
    assert.is(existsSync(folder()), false);
    assert.equal((await service.call('GET', '/api/jobs/train_1')).body.export.chosen, chosen);
  });

test('where a type cannot be made, the former files stay', async () => {
  const before = files();
  await choose({ strength: 0.1 });
  go('one');
  await until(async () => (await exported()).underway === null, 'it has ended');
  const { state, chosen, reason } = await exported();
  assert.equal([state, chosen, files()], ['failed', { strength: 0.75, checkpoint: null }, before]);
  assert.match(reason, 'is not what was trained');
});

test('what cannot be is refused', async () => {
  const path = `/api/models/${modelId}/export`;
  for (const [body, status, said] of [
    [{}, 400, /quantizations, merged, adapter_gguf, strength or checkpoint/],
    [{ strength: 0 }, 400, /must be more than 0/],
    [{ strength: 2.5 }, 400, /at most 2/],
    [{ strength: '1' }, 400, /strength/],
    [{ checkpoint: 0 }, 400, /at least 1/],
    [{ checkpoint: 7 }, 404, /train_1 keeps no checkpoint of step 7/],
  ] as const) {
    const answer = await service.call('POST', path, body);
    assert.is(answer.status, status, JSON.stringify(answer.body));
    assert.match(JSON.stringify(answer.body), said);
  }
  await choose({ strength: 0.5 });
  assert.is((await service.call('POST', path, { strength: 0.25 })).status, 409);
  assert.is((await service.call('DELETE', path)).status, 200);
  assert.equal((await exported()).chosen, { strength: 0.75, checkpoint: null });
  assert.is((await service.call('DELETE', '/api/jobs/train_1')).status, 200);
  const { status, body } = await service.call('POST', path, { checkpoint: 7 });
  assert.is(status, 404);
  assert.match(JSON.stringify(body), /The training of the model .* was deleted, and its checkpoints with it/);
});

test.run();
