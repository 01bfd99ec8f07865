/** Which forms a model cannot be exported to: that is said before anything starts, with what to choose instead. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../folders.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';
import { storeWithAdapter } from '../stored-adapter.ts';
import { storeModel } from '../stored-model.ts';
import { readDescription } from './description.ts';

const decoder = { task_type: 'CAUSAL_LM', modules_to_save: null, target_parameters: [] };
/** Models by what the configuration of their adapter, or of the whole model, says. */
const models = {
  lora: { 'adapter_config.json': decoder },
  dora: { 'adapter_config.json': { ...decoder, use_dora: true } },
  head: { 'adapter_config.json': { ...decoder, modules_to_save: ['lm_head'] } },
  experts: { 'adapter_config.json': { ...decoder, target_parameters: ['mlp.experts.down_proj'] } },
  full: { 'config.json': { architectures: ['LlamaForCausalLM'] } },
  seq2seq: { 'adapter_config.json': { task_type: 'SEQ_2_SEQ_LM' } },
  encoder: { 'adapter_config.json': { task_type: 'QUESTION_ANS' } },
  'whole-t5': { 'config.json': { architectures: ['T5ForConditionalGeneration'], is_encoder_decoder: true } },
  'of-gguf': { 'adapter_config.json': decoder },
  damaged: { 'adapter_config.json': decoder },
} as const;
type Name = keyof typeof models;

let service: InsideService;
const ids = {} as Record<Name | 'none', string>;

test.before(async () => {
  const dataDir = temporaryFolder();
  for (const [name, files] of Object.entries(models)) {
    const baseModel = name === 'of-gguf' ? '/models/base-Q4_K_M.gguf' : 'owner/name';
    const texts = Object.entries(files).map(([file, content]) => [
      file,
      name === 'damaged' ? '{' : JSON.stringify(content),
    ]);
    ids[name as Name] = storeWithAdapter(dataDir, name, baseModel, Object.fromEntries(texts)).modelId;
  }
  ids.none = storeModel(dataDir, 'none').modelId;
  service = await openInside({ dataDir });
});
test.after(endAll);

const path = (name: Name | 'none') => `/api/models/${ids[name]}/export`;
const post = (name: Name | 'none', body: object) => service.call('POST', path(name), body);

const isDecoder = /is no decoder.*Use its files in adapter\/ with PEFT/;
const refused: readonly (readonly [Name, string, RegExp])[] = [
  [
    'dora',
    'adapter_gguf',
    /is a DoRA, whose magnitudes llama\.cpp does not apply\. Choose merged, or a GGUF/,
  ],
  ['head', 'adapter_gguf', /replaces whole tensors or rows of them.*Choose merged, or a GGUF type/],
  ['experts', 'adapter_gguf', /changes experts.*Choose merged, or a GGUF type/],
  ['full', 'adapter_gguf', /All weights of full were trained, so there is no adapter\. Choose merged/],
  ['seq2seq', 'merged', isDecoder],
  ['seq2seq', 'adapter_gguf', isDecoder],
  ['encoder', 'merged', isDecoder],
  ['whole-t5', 'merged', isDecoder],
  [
    'of-gguf',
    'merged',
    /base of of-gguf is a GGUF file.*Choose a GGUF type \(quantizations\), or adapter_gguf/,
  ],
];

for (const [name, form, reason] of refused) {
  test(`${name} has no ${form}`, async () => {
    const description = await readDescription(service);
    const found = await service.call('GET', path(name));
    description.check('GET', '/api/models/{model_id}/export', found);
    assert.match(found.body[form].obstacle, reason);
    const answer = await post(name, { quantizations: ['F16'], [form]: true });
    description.check('POST', '/api/models/{model_id}/export', answer);
    assert.is(answer.status, 400);
    assert.match(answer.body.detail, reason);
    assert.is((await service.call('GET', path(name))).body.underway, null, 'nothing has begun');
  });
}

test('what can be made has no obstacle', async () => {
  const nothing = { obstacle: null, state: null, reason: null, name: null, bytes: null };
  const { body } = await service.call('GET', path('lora'));
  assert.equal([body.merged, body.adapter_gguf], [nothing, nothing]);
  for (const [name, form] of [
    ['full', 'merged'],
    ['dora', 'merged'],
    ['of-gguf', 'adapter_gguf'],
  ] as const)
    assert.is((await service.call('GET', path(name))).body[form].obstacle, null, `${name} ${form}`);
  assert.is((await service.call('GET', path('damaged'))).status, 200);
});

test('both reasons are said at once', async () => {
  const { status, body } = await post('whole-t5', { merged: true, adapter_gguf: true });
  assert.is(status, 400);
  assert.is(body.detail.match(/is no decoder/g)?.length, 2);
});

const bad: readonly (readonly [object, RegExp])[] = [
  [{ merged: 'yes' }, /merged/],
  [{ adapter_gguf: 1 }, /adapter_gguf/],
  [{ merged: null }, /merged/],
  [{ merged: false }, /must have quantizations, merged, adapter_gguf, strength or checkpoint/],
  [{ merged: false, adapter_gguf: false }, /must have quantizations, merged, adapter_gguf/],
  [{}, /must have quantizations, merged, adapter_gguf/],
  [{ merge: true }, /merge/],
  [{ merged: true, quantizations: [] }, /must name at least one type/],
  [{ merged: true, strength: 0 }, /must be more than 0/],
];

for (const [body, reason] of bad) {
  test(`${JSON.stringify(body)} is refused`, async () => {
    const answer = await post('lora', body);
    assert.is(answer.status, 400, JSON.stringify(answer.body));
    assert.match(answer.body.detail, reason);
  });
}

test('a model without an adapter is refused, and so is one that is not there', async () => {
  const { status, body } = await post('none', { merged: true });
  assert.is(status, 400);
  assert.match(body.detail, 'has no adapter');
  assert.is((await service.call('POST', '/api/models/none/export', { merged: true })).status, 404);
});

test.run();
