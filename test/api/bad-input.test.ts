import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
} from '../service.ts';

let service: TestService;
const starts = ['/api/finetune/start_training', '/api/start_training'];

test.before(async () => {
  service = await startService();
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

/** What an error says, in either set's format; the format itself is checked. */
function said(path: string, answer: { status: number; body: Json }): string {
  const { body, status } = answer;
  if (path.startsWith('/api/finetune/')) {
    assert.equal(Object.keys(body), ['detail']);
    if (typeof body.detail === 'string') return body.detail;
    for (const issue of body.detail) {
      assert.equal(Object.keys(issue).sort(), ['loc', 'msg', 'type']);
      assert.ok(Array.isArray(issue.loc));
    }
    return body.detail.map((issue: Json) => `${issue.loc.join('.')}: ${issue.msg}`).join('; ');
  }
  assert.equal(Object.keys(body).sort(), ['detail', 'error', 'status_code']);
  assert.is(body.status_code, status);
  assert.type(body.detail, 'string');
  return body.detail;
}

/** Sends a bad start to both sets: a 4xx of the set's own format that says `words`, and nothing changes. */
async function refused(request: unknown, status: number, ...words: (string | RegExp)[]): Promise<void> {
  for (const path of starts) {
    const answer = await service.call('POST', path, request);
    const text = said(path, answer);
    assert.is(answer.status, status, `${path}: ${text}`);
    for (const word of words) assert.match(text, word);
  }
  assert.equal((await service.call('GET', '/api/jobs')).body, { jobs: [], total: 0 });
  assert.equal(readdirSync(join(service.dataDir, 'jobs')), []);
}

test('invalid JSON, JSON of the wrong type, and bytes that are not UTF-8', async () => {
  await refused('{"task": ', 400, 'JSON');
  await refused('', 400, 'empty');
  await refused('[]', 400);
  await refused('null', 400);
  await refused('"text"', 400);
  await refused('7', 400);
  for (const path of starts) {
    const bytes = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    const response = await fetch(service.url + path, {
      method: 'POST',
      body: bytes,
      headers: { 'content-type': 'application/json' },
    });
    assert.is(response.status, 400);
    assert.match(said(path, { status: 400, body: await response.json() }), 'UTF-8');
    const form = await fetch(service.url + path, {
      method: 'POST',
      body: 'a=1',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.is(form.status, 400);
    const deep = await fetch(service.url + path, {
      method: 'POST',
      body: '['.repeat(100_000),
      headers: { 'content-type': 'application/json' },
    });
    assert.is(deep.status, 400);
    const huge = await fetch(service.url + path, {
      method: 'POST',
      body: JSON.stringify({ task: 'x'.repeat(10_000_000) }),
      headers: { 'content-type': 'application/json' },
    });
    assert.is(huge.status, 413);
  }
});

test('a missing field, an unknown one (by name), a wrong type, a value out of bounds (with the bound)', async () => {
  for (const field of ['task', 'model_name', 'dataset']) {
    await refused({ ...quickRequest(), [field]: undefined }, 400, field, 'required');
    await refused(quickRequest({ [field]: null }), 400, field);
    await refused(quickRequest({ [field]: 7 }), 400, field, 'string');
    await refused(quickRequest({ [field]: '' }), 400, field);
  }
  await refused(quickRequest({ lora_rank: 8 }), 400, 'lora_rank', /unknown/i);
  const bad: [string, unknown, string | RegExp][] = [
    ['num_train_epochs', 0, 'greater than 0'],
    ['num_train_epochs', 1001, '1000'],
    ['max_steps', 0, '-1'],
    ['max_steps', 10_000_001, '10000000'],
    ['per_device_train_batch_size', 0, 'at least 1'],
    ['per_device_train_batch_size', 1025, '1024'],
    ['per_device_train_batch_size', 1.5, 'whole'],
    ['gradient_accumulation_steps', 4097, '4096'],
    ['learning_rate', 0, 'greater than 0'],
    ['learning_rate', 1.1, 'at most 1'],
    ['learning_rate', '2e-4', 'number'],
    ['weight_decay', -0.1, 'at least 0'],
    ['max_grad_norm', -1, 'at least 0'],
    ['max_seq_length', 15, '16'],
    ['max_seq_length', 1_048_577, '1048576'],
    ['lora_r', 0, 'at least 1'],
    ['lora_r', 1025, '1024'],
    ['lora_alpha', 0, 'greater than 0'],
    ['lora_dropout', 1, 'less than 1'],
    ['target_modules', [], 'at least one'],
    ['target_modules', 'q_proj', /array/i],
    ['warmup_ratio', 1.5, 'at most 1'],
    ['eval_split', 1, 'less than 1'],
    ['eval_steps', 0, 'at least 1'],
    ['bf16', 'yes', 'boolean'],
    ['lr_scheduler_type', 'zigzag', 'cosine'],
    ['optim', 'magic', 'adamw_torch'],
    ['seed', 2 ** 32, '4294967295'],
    ['device', 'tpu', 'cpu'],
    ['compute_specs', 'huge', 'high_end'],
    ['provider', 'magic', 'standard'],
    ['strategy', 'magic', 'sft'],
    ['task', 'dance', 'text-generation'],
    ['export', 'maybe', 'Q8_0'],
    ['export', { quantizations: ['Q9'] }, 'Q8_0'],
    ['keep_best', true, 'eval_split'],
  ];
  for (const [field, value, word] of bad) await refused(quickRequest({ [field]: value }), 400, word);
  await refused(quickRequest({ use_4bit: true, use_8bit: true }), 400, 'exclude');
  await refused(quickRequest({ bf16: true, fp16: true }), 400, 'exclude');
  await refused(
    '{"task":"text-generation","model_name":"a/b","dataset":"support.jsonl","learning_rate":NaN}',
    400,
    'JSON',
  );
  await refused(
    '{"task":"text-generation","model_name":"a/b","dataset":"support.jsonl","learning_rate":1e999}',
    400,
    'learning_rate',
  );
});

test('the accelerated provider is refused where it cannot run, with the reason', async () => {
  await refused(quickRequest({ provider: 'accelerated' }), 400, /GPU|CUDA/);
  await refused(quickRequest({ provider: 'unsloth' }), 400, 'accelerated');
});

test('a dataset that is missing, too small, has an invalid line, or is not text', async () => {
  await refused(quickRequest({ dataset: 'nowhere.jsonl' }), 404, 'nowhere.jsonl');
  await refused(quickRequest({ dataset: '/nowhere/at/all.jsonl' }), 404, '/nowhere/at/all.jsonl');
  await refused(quickRequest({ dataset: '/etc/passwd' }), 400, '.jsonl');
  await refused(quickRequest({ dataset: '../../etc/passwd' }), 400, '.jsonl');
  const row = (index: number) => JSON.stringify({ input: `in ${index}`, output: `out ${index}` });
  const rows = (count: number) => Array.from({ length: count }, (_, index) => row(index));
  await service.upload('four.jsonl', rows(4).join('\n'));
  await refused(quickRequest({ dataset: 'four.jsonl' }), 400, /\b4\b/, /\b10\b/);
  await service.upload('line.jsonl', [...rows(11), '{oops', row(12)].join('\n'));
  await refused(quickRequest({ dataset: 'line.jsonl' }), 400, 'Line 12');
  await service.upload('type.jsonl', [...rows(11), '{"input":"a","output":5}'].join('\n'));
  await refused(quickRequest({ dataset: 'type.jsonl' }), 400, 'Line 12', '"output"');
  await service.upload(
    'latin.jsonl',
    Buffer.concat([
      Buffer.from(`${rows(11).join('\n')}\n{"input":"caf`),
      Buffer.from([0xe9]),
      Buffer.from('","output":"x"}\n'),
    ]),
  );
  await refused(quickRequest({ dataset: 'latin.jsonl' }), 400, 'Line 12', 'UTF-8');
  await refused(quickRequest({ task: 'extractive-question-answering' }), 400, 'context');
  assert.is((await service.upload('notes.txt', 'hello')).status, 400);
});

test('a model that is missing, invalid, has its own code, or an architecture that llama.cpp does not support', async () => {
  const folder = temporaryFolder();
  await refused(quickRequest({ model_name: 'not a model' }), 400, 'owner/name');
  await refused(quickRequest({ model_name: 'a/b/c' }), 400, 'owner/name');
  for (const model_name of ['train_7', 'train_7@120', randomUUID()])
    await refused(quickRequest({ model_name }), 400, 'There is no model');
  await refused(quickRequest({ model_name: '/nowhere' }), 400, 'does not exist');
  await refused(quickRequest({ model_name: '/etc/hostname' }), 400, 'not a model folder');
  await refused(quickRequest({ model_name: folder }), 400, 'config.json');
  writeFileSync(join(folder, 'config.json'), '{');
  await refused(quickRequest({ model_name: folder }), 400, 'not JSON');
  cpSync(tinyModel('llama'), folder, { recursive: true });
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({ architectures: ['EvilForCausalLM'], auto_map: { AutoModel: 'evil.Model' } }),
  );
  await refused(quickRequest({ model_name: folder }), 400, 'auto_map');
  const coded = join(temporaryFolder(), 'model');
  cpSync(tinyModel('llama'), coded, { recursive: true });
  renameSync(join(coded, 'tokenizer.json'), join(coded, 'spiece.model'));
  const code = { auto_map: { AutoTokenizer: ['evil.Tokenizer', null] } };
  writeFileSync(join(coded, 'tokenizer_config.json'), JSON.stringify(code));
  await refused(quickRequest({ model_name: coded }), 400, 'auto_map in tokenizer_config.json');
  const linked = join(temporaryFolder(), 'model');
  cpSync(tinyModel('llama'), linked, { recursive: true });
  rmSync(join(linked, 'tokenizer.json'));
  symlinkSync('/etc/passwd', join(linked, 'tokenizer.json'));
  await refused(quickRequest({ model_name: linked }), 400, 'links to files outside of it: tokenizer.json');
  const explicit = { export: { quantizations: ['Q8_0'] } };
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ architectures: ['DreamForCausalLM9'] }));
  await refused(quickRequest({ model_name: folder, ...explicit }), 400, 'DreamForCausalLM9', 'none');
  const quantization_config = { quant_method: 'hqq' };
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({ architectures: ['LlamaForCausalLM'], model_type: 'llama', quantization_config }),
  );
  await refused(quickRequest({ model_name: folder, ...explicit }), 400, 'hqq', 'none');
  const pickled = join(folder, 'pickled');
  mkdirSync(pickled);
  writeFileSync(join(pickled, 'config.json'), JSON.stringify({ architectures: ['LlamaForCausalLM'] }));
  writeFileSync(join(pickled, 'pytorch_model.bin'), 'x');
  await refused(quickRequest({ model_name: pickled }), 400, 'safetensors');
});

test('ids that do not exist, in the format of their set', async () => {
  for (const [method, path] of [
    ['GET', '/api/models/99'],
    ['DELETE', '/api/models/99'],
    ['GET', '/api/models/no-such-id'],
    ['DELETE', '/api/models/no-such-id'],
    ['GET', '/api/playground/model_path?model_id=no-such-id'],
    ['GET', '/api/jobs/train_99'],
    ['GET', '/api/jobs/what'],
    ['POST', '/api/jobs/train_99/resume'],
  ] as const) {
    const answer = await service.call(method, path);
    assert.is(answer.status, 404, path);
    const flat = /\/99$|jobs/.test(path);
    assert.equal(
      Object.keys(answer.body).sort(),
      flat ? ['detail', 'error', 'status_code'] : ['detail'],
      path,
    );
  }
  assert.is(
    (await service.call('POST', '/api/playground/new', { model_id: 'no-such', prompt: 'a' })).status,
    404,
  );
  assert.is(
    (await service.call('POST', '/api/playground/generate', { model_id: 99, prompt: 'a' })).status,
    404,
  );
});

test('bounds of the playground', async () => {
  const bad: [string, unknown][] = [
    ['prompt', ''],
    ['prompt', 'x'.repeat(2 ** 20 + 1)],
    ['prompt', 5],
    ['temperature', -0.1],
    ['temperature', 2.1],
    ['top_p', 0],
    ['top_p', 1.1],
    ['max_length', 0],
    ['max_length', 1.5],
  ];
  for (const [field, value] of bad) {
    const body = { model_id: 'any', prompt: 'a', [field]: value };
    const one = await service.call('POST', '/api/playground/new', body);
    assert.is(one.status, 400, `${field} ${JSON.stringify(value).slice(0, 20)}`);
    assert.is(one.body.detail[0].loc.at(-1), field);
    const renamed = field === 'max_length' ? 'max_new_tokens' : field;
    const two = await service.call('POST', '/api/playground/generate', {
      model_id: 1,
      prompt: 'a',
      [renamed]: value,
    });
    assert.is(two.status, 400);
    assert.match(two.body.detail, renamed);
  }
});

test('stopping nothing is a conflict, resetting nothing is not', async () => {
  const answer = await service.call('POST', '/api/stop_training');
  assert.is(answer.status, 409);
  assert.match(answer.body.detail, 'No training');
  assert.is((await service.call('POST', '/api/finetune/reset_status')).body.success, true);
});

test('unknown paths and methods', async () => {
  const unknown = await service.call('GET', '/api/nothing');
  assert.is(unknown.status, 404);
  assert.equal(Object.keys(unknown.body).sort(), ['detail', 'error', 'status_code']);
  const method = await service.call('DELETE', '/api/info');
  assert.is(method.status, 405);
  assert.is(method.headers.get('allow'), 'GET, HEAD, OPTIONS');
  assert.is((await service.call('PUT', '/api/finetune/status')).status, 405);
});

test('aborted uploads, and bodies that are not forms, leave nothing behind', async () => {
  const before = readdirSync(join(service.dataDir, 'datasets')).sort();
  const head = { 'content-type': 'multipart/form-data; boundary=xx' };
  const cut = '--xx\r\nContent-Disposition: form-data; name="file"; filename="cut.jsonl"\r\n\r\n{"input":"a"';
  const answers = [
    await fetch(`${service.url}/api/upload_dataset`, { method: 'POST', headers: head, body: cut }),
    await fetch(`${service.url}/api/upload_dataset`, { method: 'POST', headers: head, body: 'nonsense' }),
    await fetch(`${service.url}/api/upload_dataset`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data' },
      body: 'x',
    }),
    await fetch(`${service.url}/api/upload_dataset`, { method: 'POST', body: '{}' }),
  ];
  for (const answer of answers) {
    assert.is(answer.status, 400);
    assert.is(((await answer.json()) as Json).status_code, 400);
  }
  assert.equal(readdirSync(join(service.dataDir, 'datasets')).sort(), before);
});

test('names of uploads are made safe', async () => {
  for (const [given, made] of [
    ['../../evil.jsonl', 'evil.jsonl'],
    ['..\\..\\evil2.jsonl', 'evil2.jsonl'],
    ['a b$(c);d.jsonl', 'a_b_c_d.jsonl'],
    ['.hidden.jsonl', 'hidden.jsonl'],
    ['..jsonl', 'dataset.jsonl'],
  ] as const) {
    assert.is((await service.upload(given, supportRows())).body.filename, made);
    assert.ok(readdirSync(join(service.dataDir, 'datasets')).includes(made));
  }
});

test.run();
