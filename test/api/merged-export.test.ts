/** A trained model is exported as merged weights and as an adapter for llama.cpp, which real programs load. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';
import { mountSmallDisk } from '../small-disk.ts';
import { storeWithAdapter } from '../stored-adapter.ts';

let service: TestService;
let modelId: string;
const tidy: (() => void)[] = [];

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  const request = quickRequest({
    model_name: tinyModel('qwen3', 'chatml'),
    ...{ max_steps: 8, learning_rate: 0.01, save_steps: 4, save_total_limit: 2, export: 'none' },
  });
  assert.is((await service.call('POST', '/api/finetune/start_training', request)).status, 200);
  assert.is((await untilEnded(service)).status, 'completed');
  modelId = (await service.call('GET', '/api/jobs/train_1')).body.model_id;
});
test.after(async () => {
  await endAll();
  for (const undo of tidy) undo();
});

const path = () => `/api/models/${modelId}/export`;
const folder = () => join(service.dataDir, 'model_checkpoints', modelId);
const lineage = async (): Promise<Json> => (await service.call('GET', `/api/models/${modelId}/lineage`)).body;

async function exportTo(body: object): Promise<Json> {
  const begun = await service.call('POST', path(), body);
  assert.is(begun.status, 202, JSON.stringify(begun.body));
  let found: Json;
  await until(async () => {
    found = (await service.call('GET', path())).body;
    return found.underway === null;
  }, 'the export has ended');
  return found;
}

/** The weights of a folder, as transformers loads it: a digest of them, their type, and an answer. */
function loaded(at: string): Json {
  const program = `
import hashlib, json, sys
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype="auto")
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
digest = hashlib.sha256()
for name, tensor in sorted(model.state_dict().items()):
    digest.update(name.encode() + tensor.contiguous().view(torch.uint8).numpy().tobytes())
talk = [{"role": "user", "content": "My parcel has not come."}]
ids = tokenizer.apply_chat_template(talk, add_generation_prompt=True, return_tensors="pt", return_dict=True)
answer = model.generate(**ids, max_new_tokens=8, do_sample=False)
print(json.dumps({"digest": digest.hexdigest(), "dtype": str(model.dtype), "tokens": answer.shape[1]}))
`;
  const python = join(root, 'trainer', '.venv', 'bin', 'python');
  return JSON.parse(execFileSync(python, ['-c', program, at], { encoding: 'utf8', stdio: 'pipe' }));
}

test('both are made of a model without a file, told of in frames, listed and downloaded', async () => {
  const before = (await service.call('GET', `/api/models/${modelId}`)).body;
  const begun = await service.call('POST', path(), { merged: true, adapter_gguf: true });
  assert.equal(begun.body.underway.forms, ['merged', 'adapter_gguf'], JSON.stringify(begun.body));
  const second = await service.call('POST', path(), { merged: true });
  assert.is(second.status, 409);
  assert.match(second.body.detail, 'is being exported to merged weights, the adapter as GGUF. Wait');
  let found: Json;
  await until(async () => {
    found = (await service.call('GET', path())).body;
    return found.underway === null;
  }, 'the export has ended');
  assert.is(found.state, 'skipped', 'that is about types');
  const { bytes, ...merged } = found.merged;
  assert.equal(merged, { obstacle: null, state: 'done', reason: null, name: 'merged' });
  assert.equal([found.adapter_gguf.state, found.adapter_gguf.name], ['done', 'adapter.gguf']);
  const files = readdirSync(join(folder(), 'merged'));
  assert.is(
    bytes,
    files.reduce((sum, name) => sum + readFileSync(join(folder(), 'merged', name)).length, 0),
  );
  const { files: listed } = await lineage();
  const names = listed.map(({ name }: Json) => name);
  for (const name of [
    'README.md',
    'config.json',
    'model.safetensors',
    'tokenizer.json',
    'chat_template.jinja',
  ])
    assert.ok(names.includes(`merged/${name}`), name);
  assert.is(listed.find(({ name }: Json) => name === 'adapter.README.md').kind, 'adapter_readme');
  const config = await fetch(`${service.url}/api/models/${modelId}/files/merged%2Fconfig.json`);
  assert.is(((await config.json()) as Json).dtype, 'bfloat16');
  const after = (await service.call('GET', `/api/models/${modelId}`)).body;
  assert.ok(JSON.stringify(after) !== JSON.stringify(before), 'its size has grown');
});

test('the merged folder answers in transformers', () => {
  const { dtype, tokens } = loaded(join(folder(), 'merged'));
  assert.is(dtype, 'torch.bfloat16');
  assert.ok(tokens > 0);
});

test('at a strength the merged weights are made again, and taken back as they were', async () => {
  const before = loaded(join(folder(), 'merged')).digest;
  const half = await exportTo({ strength: 0.5 });
  assert.equal(half.chosen, { strength: 0.5, checkpoint: null });
  assert.equal(half.files, [], 'no type was there, and none was asked for');
  assert.equal([half.merged.state, half.adapter_gguf.state], ['done', 'done']);
  assert.is.not(loaded(join(folder(), 'merged')).digest, before);
  assert.is((await exportTo({ strength: 1 })).chosen, null);
  assert.is(loaded(join(folder(), 'merged')).digest, before);
});

test('a cancelled export leaves the folder as it was', async () => {
  const before = readdirSync(folder()).sort();
  const { body } = await service.call('POST', path(), { merged: true });
  assert.is(body.underway.state, 'running');
  await until(async () => {
    const { underway } = (await service.call('GET', path())).body;
    return underway === null || underway.phase !== null;
  }, 'it has begun');
  await service.call('DELETE', path());
  assert.is((await service.call('GET', path())).body.underway, null);
  assert.equal(readdirSync(folder()).sort(), before);
  assert.ok(existsSync(join(folder(), 'merged', 'model.safetensors')));
});

test('a base that is gone is the reason, and what there is stays', async () => {
  const specs = join(service.dataDir, 'jobs', 'train_1', 'spec.json');
  assert.ok(existsSync(specs));
  const store = openStore(
    join(service.dataDir, 'database', 'hone.sqlite'),
    join(root, 'src', 'db', 'migrations'),
  );
  const job = store.jobs.get(1) as unknown as { spec: Json };
  const spec = { ...job.spec, model: { ...job.spec.model, path: join(service.dataDir, 'nowhere') } };
  store.jobs.update(1, { spec });
  const found = await exportTo({ merged: true });
  store.jobs.update(1, { spec: job.spec });
  store.close();
  assert.is(found.merged.state, 'failed');
  assert.match(found.merged.reason, /base model is no longer in .*Put it back/);
  assert.is(found.merged.name, 'merged', 'the former one');
  assert.is(found.state, 'skipped');
});

test('all is deleted with the model, and comes back from the bin', async () => {
  const { body } = await service.call('DELETE', `/api/models/${modelId}`);
  assert.not.ok(existsSync(folder()));
  const { bin_id: binId } = body;
  assert.type(binId, 'string', JSON.stringify(body));
  assert.is((await service.call('POST', `/api/bin/${binId}/restore`)).status, 200);
  assert.ok(existsSync(join(folder(), 'merged', 'model.safetensors')));
  assert.is((await service.call('GET', path())).body.merged.name, 'merged');
});

const disk = mountSmallDisk(64 * 2 ** 20);
if (typeof disk === 'string') console.log(`  skipped: ${disk}`);
else tidy.push(disk.unmount);

(typeof disk === 'string' ? test.skip : test)('a full disk is said before it starts', async () => {
  if (typeof disk === 'string') return;
  const files = { 'adapter_config.json': '{"task_type": "CAUSAL_LM"}' };
  const { modelId: id } = storeWithAdapter(disk.folder, 'tiny', tinyModel('llama'), files);
  const other = await startService({ dataDir: disk.folder });
  disk.fill();
  const { status, body } = await other.call('POST', `/api/models/${id}/export`, { merged: true });
  assert.is(status, 507, JSON.stringify(body));
  assert.match(body.detail, 'The disk is nearly full');
});

test.run();
