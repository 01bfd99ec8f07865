/** A GGUF file of another program, laid out as Ollama's, is found, trained, exported and asked. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { trainGguf } from '../gguf-base.ts';
import { layOutOllama } from '../gguf-caches.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';

const home = temporaryFolder();
const bases = join(home, '.cache', 'hone', 'gguf-bases');
let service: TestService;
let gguf: string;
let job: Json;

test.before(async () => {
  const env = {
    HOME: home,
    XDG_CACHE_HOME: '',
    HF_HOME: '',
    HF_HUB_CACHE: join(home, 'hub'),
    OLLAMA_MODELS: '',
  };
  service = await startService({ warm: true, env });
  await service.upload('support.jsonl', supportRows());
  // The toy's own file, as Hone exports it.
  const request = {
    model_name: tinyModel('llama', 'chatml'),
    max_steps: 1,
    export: { quantizations: ['F16'] },
  };
  await service.call('POST', '/api/start_training', quickRequest(request));
  assert.is((await untilEnded(service)).status, 'completed');
  const made = (await service.call('GET', '/api/jobs/train_1')).body;
  gguf = layOutOllama(home, join(service.dataDir, 'model_checkpoints', made.model_id, 'model-F16.gguf'));
});
test.after(endAll);

test('it is offered with what its header says', async () => {
  const { models } = (await service.call('GET', '/api/base_models')).body;
  const found = models.find(({ model }: Json) => model === gguf);
  assert.is(found.kind, 'gguf');
  assert.is(found.gguf.name, 'smollm2:135m');
  assert.is(found.gguf.program, 'Ollama');
  assert.is(found.gguf.quantization, 'F16');
});

test('its adapter fits the very file, and the merged file says the same', async () => {
  const settings = { max_steps: 12, learning_rate: 0.02, export: { quantizations: ['F16'] } };
  job = await trainGguf(service, gguf, quickRequest(settings));
  assert.is(job.agreement, 1);
  const events = (await service.call('GET', `/api/jobs/${job.job_id}/events`)).body;
  assert.match(JSON.stringify(events), '"gguf"', 'reading the file is a phase');
  const answer = await service.call('POST', '/v1/chat/completions', {
    ...{ model: job.model_id, max_tokens: 4, temperature: 0 },
    messages: [{ role: 'user', content: 'My parcel has not come.' }],
  });
  assert.is(answer.status, 200, JSON.stringify(answer.body));
});

test('what was made of it is made again for an export when it is gone from the cache', async () => {
  assert.is(readdirSync(bases).length, 1);
  rmSync(bases, { recursive: true });
  const path = `/api/models/${job.model_id}/export`;
  const asked = await service.call('POST', path, { quantizations: ['Q8_0'] });
  assert.ok(asked.status < 300, JSON.stringify(asked.body));
  const made = await until(async () => {
    const { body } = await service.call('GET', path);
    return body.underway === null ? body : null;
  }, 'the export has ended');
  assert.is(made.state, 'done', JSON.stringify(made));
  assert.is(readdirSync(bases).length, 1);
});

test('a preview of its tokens reads no weights, and a file that is gone is refused', async () => {
  rmSync(bases, { recursive: true });
  const request = quickRequest({ model_name: gguf });
  const { dataset: _, ...shown } = request;
  const preview = await service.call('POST', '/api/datasets/support.jsonl/preview', shown);
  assert.is(preview.status, 200, JSON.stringify(preview.body));
  assert.not(existsSync(bases));
  rmSync(gguf);
  const { status, body } = await service.call('POST', '/api/start_training', request);
  assert.is(status, 400);
  assert.match(JSON.stringify(body), /does not exist/);
});

test.run();
