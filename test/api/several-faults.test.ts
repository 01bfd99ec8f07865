/** A start with several faults in its request names them all at once, in both sets' formats. */
import { cpSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
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

test.before(async () => {
  service = await startService();
  await service.upload('support.jsonl', supportRows());
  await service.upload('four.jsonl', supportRows().split('\n').slice(0, 4).join('\n'));
});
test.after(endAll);

/** Sends a start to both sets: each names every fault, by its field and a word of what is wrong; no job is made. */
async function refused(
  request: object,
  faults: readonly (readonly [string, string | RegExp])[],
): Promise<void> {
  const fine = await service.call('POST', '/api/finetune/start_training', request);
  assert.is(fine.status, 400, JSON.stringify(fine.body));
  assert.equal(Object.keys(fine.body), ['detail']);
  assert.ok(Array.isArray(fine.body.detail), `${fine.body.detail}`);
  const told = fine.body.detail.map((issue: Json) => {
    assert.equal(Object.keys(issue).sort(), ['loc', 'msg', 'type']);
    return issue.loc.join('.');
  });
  assert.equal(told.sort(), faults.map(([field]) => `body.${field}`).sort());
  for (const [field, word] of faults) {
    const about = fine.body.detail.filter((issue: Json) => issue.loc.join('.') === `body.${field}`);
    assert.match(about.map(({ msg }: Json) => msg).join(' | '), word);
  }
  const flat = await service.call('POST', '/api/start_training', request);
  assert.is(flat.status, 400);
  assert.equal(Object.keys(flat.body).sort(), ['detail', 'error', 'status_code']);
  for (const { msg } of fine.body.detail)
    assert.ok(flat.body.detail.includes(msg), `${msg} in ${flat.body.detail}`);
  assert.equal((await service.call('GET', '/api/jobs')).body, { jobs: [], total: 0 });
  assert.equal(readdirSync(join(service.dataDir, 'jobs')), []);
}

test('faults of the schema: several fields, several unknown ones, several of one field', async () => {
  await refused(
    {
      ...quickRequest({ lora_rank: 8, learn_rate: 1, 'a\u0000b': 1, learning_rate: 5, bf16: 'yes' }),
      per_device_train_batch_size: 2000.5,
      eval_split: 1.5,
      max_seq_length: 3,
    },
    [
      ['lora_rank', 'Unknown'],
      ['learn_rate', 'Unknown'],
      ['a\u0000b', 'Unknown'],
      ['learning_rate', 'at most 1'],
      ['bf16', 'boolean'],
      ['per_device_train_batch_size', 'at most 1024'],
      ['per_device_train_batch_size', 'whole number'],
      ['eval_split', 'less than 1'],
      ['max_seq_length', 'from 16'],
    ],
  );
});

test('faults between fields, of names, of the dataset and of the model', async () => {
  const folder = join(temporaryFolder(), 'model');
  cpSync(tinyModel('llama'), folder, { recursive: true });
  renameSync(join(folder, 'tokenizer.json'), join(folder, 'spiece.model'));
  writeFileSync(
    join(folder, 'tokenizer_config.json'),
    JSON.stringify({ auto_map: { AutoTokenizer: 'a.B' } }),
  );
  await refused(
    quickRequest({
      strategy: 'magic',
      provider: 'magic',
      dataset: 'nowhere.jsonl',
      model_name: folder,
      use_4bit: true,
      use_8bit: true,
      bf16: true,
      fp16: true,
      keep_best: true,
      optim: 'magic',
      lr_scheduler_type: 'zigzag',
    }),
    [
      ['strategy', 'sft'],
      ['provider', 'standard'],
      ['dataset', 'nowhere.jsonl'],
      ['model_name', 'tokenizer_config.json'],
      ['use_8bit', 'exclude'],
      ['fp16', 'exclude'],
      ['fp16', 'NVIDIA'],
      ['eval_split', 'keep_best'],
      ['optim', 'adamw_torch'],
      ['lr_scheduler_type', 'cosine'],
    ],
  );
  await refused(quickRequest({ model_name: '/nowhere', dataset: 'four.jsonl', task: 'dance' }), [
    ['model_name', 'does not exist'],
    ['dataset', /\b4 examples; at least 10/],
    ['task', 'text-generation'],
  ]);
  // The dataset to validate on: without a part held out, not the same rows, of the same shape.
  await refused(quickRequest({ validation_dataset: 'support.jsonl', eval_split: 0.1 }), [
    ['eval_split', 'validation_dataset exclude each other'],
    ['validation_dataset', 'is the dataset itself'],
  ]);
  const pairs = Array.from({ length: 12 }, () => '{"prompt":"a","chosen":"b","rejected":"c"}').join('\n');
  await service.upload('pairs.jsonl', pairs);
  await refused(quickRequest({ validation_dataset: 'pairs.jsonl', keep_best: true, seed: -1 }), [
    ['validation_dataset', '"input"'],
    ['seed', 'at least 0'],
  ]);
  await refused(quickRequest({ validation_dataset: 'four.jsonl', dataset: 'nowhere.jsonl' }), [
    ['validation_dataset', /\b4 examples; at least 10/],
    ['dataset', 'nowhere.jsonl'],
  ]);
  // The rows of a preference are missing, whatever else is wrong with the task.
  await refused(quickRequest({ task: 'summarization', strategy: 'dpo', per_device_train_batch_size: 3 }), [
    ['strategy', 'text-generation'],
    ['dataset', '"prompt"'],
  ]);
  await refused(
    quickRequest({
      strategy: 'rlhf',
      per_device_train_batch_size: 5,
      dataset: 'nowhere.jsonl',
      seed: -1,
      reward_model: folder,
    }),
    [
      ['reward_model', 'tokenizer_config.json'],
      ['gradient_accumulation_steps', 'is 5'],
      ['dataset', 'nowhere.jsonl'],
      ['seed', 'at least 0'],
    ],
  );
});

test('faults of the schema together with those that only the other fields show', async () => {
  await refused(
    {
      ...quickRequest({ model_name: 'no model', dataset: 'four.jsonl', lora_rank: 1 }),
      use_4bit: 1,
      task: 7,
    },
    [
      ['model_name', 'owner/name'],
      ['dataset', '10'],
      ['lora_rank', 'Unknown'],
      ['use_4bit', 'boolean'],
      ['task', 'string'],
    ],
  );
});

test('what could not be read is not blamed for more', async () => {
  await refused(quickRequest({ eval_split: 2, keep_best: true }), [['eval_split', 'less than 1']]);
  await refused(quickRequest({ strategy: 7, dataset: 'nowhere.jsonl' }), [
    ['strategy', 'string'],
    ['dataset', 'nowhere.jsonl'],
  ]);
  await refused({}, [
    ['task', 'required'],
    ['model_name', 'required'],
    ['dataset', 'required'],
  ]);
});

test('a single error keeps its own status and format', async () => {
  for (const [dataset, status] of [
    ['nowhere.jsonl', 404],
    ['four.jsonl', 400],
  ] as const) {
    const answer = await service.call('POST', '/api/finetune/start_training', quickRequest({ dataset }));
    assert.is(answer.status, status);
    assert.type(answer.body.detail, 'string');
  }
});

test('very many faults are counted, not listed', async () => {
  const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`x${index}`, 1]));
  const answer = await service.call('POST', '/api/finetune/start_training', quickRequest(unknown));
  assert.is(answer.status, 400);
  assert.is(answer.body.detail.length, 101);
  assert.match(answer.body.detail.at(-1).msg, '4900 more');
});

test.run();
