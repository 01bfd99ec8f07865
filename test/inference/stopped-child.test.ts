/** A model's process that was stopped, as by SIGSTOP: its request is told after a time, and its model can be deleted. */
import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readDescription } from '../api/description.ts';
import { childrenOf } from '../children.ts';
import { endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { type StoredModel, storeModel } from '../stored-model.ts';

let service: TestService;
let model: StoredModel;

test.before(async () => {
  const dataDir = temporaryFolder();
  model = storeModel(dataDir, 'first');
  // Long enough for the process to start on a busy machine.
  service = await startService({ dataDir, limits: { engineSilenceMs: 20_000, pendingAnswers: 3 } });
});
test.after(endAll);

const ask = () =>
  service.call('POST', '/api/playground/new', {
    ...{ model_id: model.modelId, prompt: 'ab', max_length: 4, temperature: 0 },
  });

/** Process IDs of the service's children that run models. */
const children = () => childrenOf(service.process.pid, 'inference-worker.js');

test('its request gets 503 with the reason; the next one a new process; its model can be deleted', async () => {
  const before = await ask();
  assert.is(before.status, 200, JSON.stringify(before.body));
  const [stopped] = children() as [number];
  process.kill(stopped, 'SIGSTOP');
  const description = await readDescription(service);
  const path = '/v1/chat/completions';
  const body = { model: 'first', messages: [{ role: 'user', content: 'ab' }], max_tokens: 4 };
  const asked = [
    ask(),
    service.call('POST', path, body),
    service.call('POST', path, { ...body, stream: true }),
    service.call('POST', path, body),
  ];
  const flat = { model_id: model.id, prompt: 'ab', temperature: 0 };
  const more = [
    ask,
    () => service.call('POST', path, body),
    () => service.call('POST', '/api/playground/generate', flat),
  ];
  // Three may wait: when one of the four is refused, the others do.
  assert.is((await Promise.race(asked)).status, 429);
  for (const again of more) {
    const refused = await again();
    assert.is(refused.status, 429, JSON.stringify(refused.body));
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.match(JSON.stringify(refused.body), 'already has 3 requests');
  }
  let refusals = 0;
  for (const [place, answer] of (await Promise.all(asked)).entries()) {
    if (answer.status === 429) {
      refusals += 1;
      continue;
    }
    assert.is(answer.status, 503, JSON.stringify(answer.body));
    description.check('POST', place === 0 ? '/api/playground/new' : path, answer);
    assert.match(JSON.stringify(answer.body), 'gave no sign of life for 20 s and was ended');
  }
  assert.is(refusals, 1);
  assert.equal(children(), [], 'the process is gone');
  assert.is((await ask()).status, 200);
  // Stopped again, with nobody waiting.
  process.kill(children()[0] as number, 'SIGSTOP');
  assert.is((await service.call('DELETE', `/api/models/${model.id}`)).status, 200);
  assert.equal(children(), []);
  assert.not(existsSync(model.path));
});

test.run();
