/**
 * Base models that a run makes first. A GGUF file of another program, laid out as Ollama's, is found, trained, exported
 * and asked; an adapter is merged into its base, trained and exported.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { trainGguf } from '../gguf-base.ts';
import { layOutLmStudio, layOutOllama } from '../gguf-caches.ts';
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
import { splitGguf } from '../split-gguf.ts';

const home = temporaryFolder();
const bases = join(home, '.cache', 'hone', 'gguf-bases');
const merged = join(home, '.cache', 'hone', 'merged-bases');
let service: TestService;
/** The toy's own file, and the same laid out as Ollama does. */
let whole: string;
let gguf: string;
/** The folder of an adapter that was trained here. */
let adapter: string;
let job: Json;
/** The run of the merged adapter. */
let mergedRun: Json;

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
  const folder = join(service.dataDir, 'model_checkpoints', made.model_id);
  whole = join(folder, 'model-F16.gguf');
  gguf = layOutOllama(home, whole);
  adapter = join(folder, 'adapter');
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

test('a split file in LM Studio’s folder is offered, trained and exported', async () => {
  const [first = '', second = ''] = splitGguf(layOutLmStudio(home, whole, 'owner/Split'), 2);
  const { models } = (await service.call('GET', '/api/base_models')).body;
  const found = models.filter(({ gguf: about }: Json) => about?.program === 'LM Studio');
  assert.equal(
    found.map(({ model }: Json) => model),
    [first],
  );
  const settings = { max_steps: 12, learning_rate: 0.02, export: { quantizations: ['F16'] } };
  assert.is(readdirSync(bases).length, 1);
  assert.is((await trainGguf(service, first, quickRequest(settings))).agreement, 1);
  assert.is(readdirSync(bases).length, 2);
  rmSync(second);
  const checked = (await service.call('POST', '/api/base_models/check', { model: first })).body;
  assert.is(checked.usable, false);
  assert.match(checked.problem.message, /-00002-of-00002\.gguf does not exist, and all 2 parts of the model/);
  rmSync(bases, { recursive: true });
});

test('what was made of it is made again for an export when it is gone from the cache', async () => {
  rmSync(bases, { recursive: true, force: true });
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

const check = async (body: Json) => (await service.call('POST', '/api/base_models/check', body)).body;

/** Trains a base model with its adapter merged. @returns the job and the model. */
async function trainMerged(request: Json): Promise<{ job: Json; model: Json }> {
  const started = await service.call('POST', '/api/start_training', { ...request, merge_adapter: true });
  assert.is(started.status, 200, JSON.stringify(started.body));
  const { job_id: id } = started.body;
  assert.is((await untilEnded(service)).status, 'completed');
  const found = (await service.call('GET', `/api/jobs/${id}`)).body;
  return { job: found, model: (await service.call('GET', `/api/models/${found.model_id}`)).body };
}

test('an adapter alone is merged into its base when asked, and the export is that of both', async () => {
  const request = quickRequest({
    ...{ model_name: adapter, max_steps: 2, learning_rate: 0.02 },
    export: { quantizations: ['F16'] },
  });
  const plain = await check({ model: adapter });
  assert.equal([plain.usable, plain.adapter], [false, 'alone']);
  assert.match(plain.problem.message, 'With merge_adapter, it is merged into its base first');
  const refused = await service.call('POST', '/api/start_training', request);
  assert.is(refused.status, 400);
  assert.match(refused.body.detail, 'merge_adapter');
  const asked = await check({ model: adapter, merge_adapter: true });
  assert.equal([asked.usable, asked.adapter], [true, 'alone'], JSON.stringify(asked));
  const [own, base] = await Promise.all(
    [
      { ...request, merge_adapter: true },
      { ...request, model_name: tinyModel('llama', 'chatml') },
    ].map((body) => service.call('POST', '/api/estimate', body)),
  );
  assert.is(own?.body.parameters, base?.body.parameters);
  const { job: run, model } = await trainMerged(request);
  mergedRun = run;
  assert.is(run.export.state, 'done', JSON.stringify(run.export));
  assert.is(run.verification.passed, true, JSON.stringify(run.verification));
  assert.equal([model.base_model, model.config.merge_adapter], [adapter, true]);
  const events = (await service.call('GET', `/api/jobs/${run.job_id}/events`)).body;
  assert.match(JSON.stringify(events), '"merge_base"');
  const folders = readdirSync(merged);
  assert.is(folders.length, 1);
  const ownConfig = join(
    service.dataDir,
    'model_checkpoints',
    run.model_id,
    'adapter',
    'adapter_config.json',
  );
  const named = JSON.parse(readFileSync(ownConfig, 'utf8')).base_model_name_or_path;
  assert.is(named, join(merged, folders[0] as string));
});

test('the merged base of a model is made again for an evaluation and for an export, with its job deleted', async () => {
  const { job_id: id, model_id: modelId } = mergedRun;
  rmSync(merged, { recursive: true });
  const evaluated = await service.call('POST', '/api/evaluations', {
    ...{ dataset: 'support.jsonl', rows: 2, model: modelId },
  });
  assert.ok(evaluated.status < 300, JSON.stringify(evaluated.body));
  const path = `/api/evaluations/${evaluated.body.evaluation_id}`;
  const ended = await until(async () => {
    const { body } = await service.call('GET', path);
    return ['queued', 'running'].includes(body.state) ? null : body;
  }, 'the evaluation has ended');
  assert.is(ended.state, 'completed', JSON.stringify(ended));
  rmSync(merged, { recursive: true });
  const deleted = await service.call('DELETE', `/api/jobs/${id}`);
  assert.ok(deleted.status < 300, JSON.stringify(deleted.body));
  const asked = await service.call('POST', `/api/models/${modelId}/export`, { quantizations: ['Q8_0'] });
  assert.ok(asked.status < 300, JSON.stringify(asked.body));
  const made = await until(async () => {
    const { body } = await service.call('GET', `/api/models/${modelId}/export`);
    return body.underway === null ? body : null;
  }, 'the export has ended');
  assert.is(made.state, 'done', JSON.stringify(made));
});

test('an adapter beside weights is merged into them when asked', async () => {
  const folder = join(temporaryFolder(), 'model');
  cpSync(tinyModel('llama', 'chatml'), folder, { recursive: true });
  for (const name of ['adapter_config.json', 'adapter_model.safetensors'])
    cpSync(join(adapter, name), join(folder, name));
  const found = await check({ model: folder });
  assert.equal([found.usable, found.adapter], [true, 'beside']);
  assert.match(found.notes.join(' '), 'With merge_adapter, it is merged into them first');
  assert.equal((await check({ model: folder, merge_adapter: true })).notes, []);
  const before = readdirSync(merged);
  const { job: run } = await trainMerged(quickRequest({ model_name: folder, max_steps: 1 }));
  assert.is(readdirSync(merged).length, before.length + 1);
  const repeated = (await service.call('GET', `/api/jobs/${run.job_id}`)).body.request;
  assert.is(repeated.merge_adapter, true);
});

test('what cannot be merged is refused with the reason', async () => {
  const changed = (change: (folder: string, config: Json) => void): string => {
    const folder = join(temporaryFolder(), 'adapter');
    cpSync(adapter, folder, { recursive: true });
    const path = join(folder, 'adapter_config.json');
    const config = JSON.parse(readFileSync(path, 'utf8'));
    change(folder, config);
    writeFileSync(path, JSON.stringify(config));
    return folder;
  };
  const configured = (fields: Json) => changed((_folder, config) => Object.assign(config, fields));
  const quantized = join(temporaryFolder(), 'quantized');
  cpSync(tinyModel('llama', 'chatml'), quantized, { recursive: true });
  const path = join(quantized, 'config.json');
  const stored = { quant_method: 'bitsandbytes', load_in_4bit: true };
  writeFileSync(
    path,
    JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), quantization_config: stored }),
  );
  const cases: [string, RegExp][] = [
    [tinyModel('llama', 'chatml'), /There is no adapter to merge: .* has no adapter_config\.json/],
    ['owner/adapter', /download it into a folder \(hf download owner\/adapter/],
    [gguf.replace(/[^/]*$/, 'other.gguf'), /is a GGUF file/],
    [configured({ use_qalora: true }), /it has QALoRA/],
    [configured({ peft_type: 'IA3' }), /of the kind IA3, and only LoRA can be/],
    [configured({ init_lora_weights: 'pissa' }), /trained on changed weights/],
    [configured({ base_model_name_or_path: '/nowhere/model' }), /does not exist/],
    [configured({ base_model_name_or_path: './model' }), /which is no full path/],
    [configured({ base_model_name_or_path: adapter }), /is itself an adapter/],
    [configured({ base_model_name_or_path: null }), /does not name its base/],
    [configured({ base_model_name_or_path: quantized }), /stored quantized \(bitsandbytes\)/],
    [configured({ base_model_name_or_path: 'owner/base', revision: 'v1' }), /fits the revision v1/],
    [
      changed((folder) => rmSync(join(folder, 'adapter_model.safetensors'))),
      /has no adapter_model\.safetensors/,
    ],
    [
      changed((folder) => writeFileSync(join(folder, 'adapter_model.safetensors'), 'no tensors')),
      /its adapter_model\.safetensors is damaged or empty/,
    ],
  ];
  for (const [model, why] of cases) {
    const request = quickRequest({ model_name: model, merge_adapter: true });
    const { status, body } = await service.call('POST', '/api/start_training', request);
    assert.is(status, 400, model);
    assert.match(body.detail, why);
    const { usable, problem } = await check({ model, merge_adapter: true });
    assert.is(usable, false);
    assert.match(problem.message, why);
  }
});

test.run();
