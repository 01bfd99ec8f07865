/** What a start knows of a model of the hub before anything of it is downloaded. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Json } from '../client.ts';
import {
  endAll,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';
import { type LoopbackHub, startLoopbackHub } from './loopback.ts';

let hub: LoopbackHub;
let service: TestService;
/** Models with the vocabulary of an older tokenizer alone: on the hub, and their folders. */
const olderModels: string[] = [];

test.before(async () => {
  hub = await startLoopbackHub();
  hub.addModel('someone/t5', tinyModel('t5'));
  hub.addModel('someone/small', tinyModel('llama'));
  const coded = join(temporaryFolder(), 'model');
  cpSync(tinyModel('llama'), coded, { recursive: true });
  const config = JSON.parse(readFileSync(join(coded, 'config.json'), 'utf8'));
  writeFileSync(
    join(coded, 'config.json'),
    JSON.stringify({ ...config, model_type: 'own', auto_map: { AutoModel: 'own.Own' } }),
  );
  hub.addModel('someone/coded', coded);
  for (const [name, ...files] of [
    ['bert', 'vocab.txt'],
    ['roberta', 'vocab.json', 'merges.txt'],
  ] as const) {
    const older = join(temporaryFolder(), name);
    cpSync(tinyModel('llama'), older, { recursive: true });
    rmSync(join(older, 'tokenizer.json'));
    for (const file of files) writeFileSync(join(older, file), '{}');
    hub.addModel(`someone/${name}`, older);
    olderModels.push(`someone/${name}`, older);
  }
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

test('a model with vocab.txt, or vocab.json and merges.txt, alone is refused, with what to do', async () => {
  assert.is(olderModels.length, 4);
  for (const model of olderModels) {
    const answers = [
      await start({ model_name: model }),
      await service.call('POST', '/api/finetune/validate_model', { selected_model: model }),
    ];
    for (const { status, body } of answers) {
      assert.is(status, 400, JSON.stringify(body));
      assert.match(JSON.stringify(body), `${model} has no tokenizer.json and no SentencePiece model`);
      assert.match(JSON.stringify(body), 'AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER)');
    }
  }
  assert.equal((await service.call('GET', '/api/jobs')).body.jobs, []);
  assert.not.ok(hub.seen.some(({ path }) => /resolve.*(vocab|merges|safetensors)/.test(path)));
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
  assert.equal((await service.call('GET', `/api/jobs/${body.job_id}`)).body.quantizations, []);
});

test('a model is downloaded by itself, cancelled without a trace, listed with its facts, and deleted', async () => {
  const download = (model: string) => service.call('POST', '/api/base_models/downloads', { model });
  const downloads = async () => (await service.call('GET', '/api/base_models/downloads')).body.downloads;
  const listed = async () =>
    (await service.call('GET', '/api/base_models')).body.models.find(
      ({ model }: Json) => model === 'someone/small',
    );
  const remove = (model: string) =>
    service.call('DELETE', `/api/base_models?model=${encodeURIComponent(model)}`);
  assert.is((await download('someone/nothing')).status, 403);
  assert.is((await download(tinyModel('llama'))).status, 400);
  assert.is((await remove('someone/small')).status, 404);

  const isAsked = () => hub.seen.some(({ path }) => /someone\/small\/resolve.*safetensors/.test(path));
  const hangs = { match: /^GET/, how: { hang: true } } as const;
  hub.storage.faults.push(hangs);
  hub.faults.push({ ...hangs, match: /^GET .*someone\/small\/resolve.*safetensors/ });
  const { body: first } = await download('someone/small');
  assert.is(first.state, 'running');
  assert.is((await download('someone/small')).body.id, first.id, 'one download of a model at a time');
  await until(isAsked, 'its weights are asked for');
  assert.is((await remove('someone/small')).status, 409);
  const cancelled = await service.call('DELETE', `/api/base_models/downloads/${first.id}`);
  assert.is(cancelled.status, 200, JSON.stringify(cancelled.body));
  assert.equal(await downloads(), []);
  assert.is((await remove('someone/small')).status, 404, 'nothing is left of it');

  for (const { faults } of [hub, hub.storage]) faults.length = 0;
  assert.is((await download('someone/small')).status, 200);
  await until(async () => (await downloads())[0].state !== 'running', 'it ends');
  assert.is((await downloads())[0].error, null);
  const { kind, bytes, parameters, memory_bytes: memory, fits, last_used: used } = await listed();
  assert.equal([kind, fits, used], ['hub', true, null]);
  assert.ok(bytes > parameters && parameters > 0 && memory > 0, `${bytes} ${parameters} ${memory}`);
  assert.is((await download('someone/small')).status, 409);
  assert.is((await remove('someone/small')).status, 200);
  assert.is(await listed(), undefined);
});

test.run();
