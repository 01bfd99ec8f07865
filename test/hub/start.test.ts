/** What a start knows of a model of the hub before anything of it is downloaded. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  untilEnded,
} from '../service.ts';
import { type LoopbackHub, startLoopbackHub } from './loopback.ts';

let hub: LoopbackHub;
let service: TestService;

test.before(async () => {
  hub = await startLoopbackHub();
  hub.addModel('someone/t5', tinyModel('t5'));
  const coded = join(temporaryFolder(), 'model');
  cpSync(tinyModel('llama'), coded, { recursive: true });
  const config = JSON.parse(readFileSync(join(coded, 'config.json'), 'utf8'));
  writeFileSync(
    join(coded, 'config.json'),
    JSON.stringify({ ...config, auto_map: { AutoModel: 'own.Own' } }),
  );
  hub.addModel('someone/coded', coded);
  service = await startService({
    env: {
      HF_ENDPOINT: hub.url,
      HF_HOME: temporaryFolder(),
      HF_HUB_OFFLINE: '',
      HUB_TOKEN: '',
      HF_TOKEN: '',
      HUGGINGFACE_TOKEN: '',
    },
  });
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await endAll();
  await hub.close();
});

const start = (changes: Record<string, unknown>) =>
  service.call('POST', '/api/start_training', quickRequest(changes));

test('a model whose configuration names code of its own is refused, naming the file', async () => {
  const { status, body } = await start({ model_name: 'someone/coded' });
  assert.is(status, 400, JSON.stringify(body));
  assert.match(body.detail, 'auto_map in config.json');
});

test('a T5 model: requested GGUF types are refused; without a request, it is trained without a GGUF', async () => {
  const refused = await start({ model_name: 'someone/t5', export: { quantizations: ['Q8_0'] } });
  assert.is(refused.status, 400, JSON.stringify(refused.body));
  assert.match(refused.body.detail, 'llama.cpp cannot run the architecture T5ForConditionalGeneration');
  const { status, body } = await start({ model_name: 'someone/t5', max_steps: 2 });
  assert.is(status, 200, JSON.stringify(body));
  assert.match(body.message, 'no GGUF file');
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  assert.is((await service.call('GET', `/api/jobs/${body.job_id}`)).body.export, null);
});

test.run();
