/** Folders of models as people have them: the check, an estimate and a start say the same of each. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
});
test.after(endAll);

/** A copy of a tiny model, changed. */
function changed(change: (folder: string) => void, config: Json = {}): string {
  const folder = join(temporaryFolder(), 'model');
  cpSync(tinyModel('llama'), folder, { recursive: true });
  const path = join(folder, 'config.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...config }));
  change(folder);
  return folder;
}
const configured = (config: Json) => changed(() => {}, config);
const weights = 'model.safetensors';
const move = (folder: string, ...names: string[]) => {
  for (const name of names) cpSync(join(folder, weights), join(folder, name));
  rmSync(join(folder, weights));
};
const write = (folder: string, name: string, content: Json) =>
  writeFileSync(join(folder, name), JSON.stringify(content));
const adapter = { peft_type: 'LORA', base_model_name_or_path: 'owner/base' };
const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
const index = { weight_map: { a: shards[0], b: shards[1] } };
const code = { AutoModelForCausalLM: 'modeling.Model' };

const refused: Record<string, [folder: () => string, words: string]> = {
  'an embedding model': [
    () => configured({ architectures: ['Qwen3Model'], model_type: 'qwen3' }),
    'Qwen3Model',
  ],
  'a classifier': [
    () => configured({ architectures: ['LlamaForSequenceClassification'] }),
    'LlamaForSequenceClassification cannot be trained',
  ],
  'an unknown type': [
    () => configured({ architectures: ['OwnForCausalLM'], model_type: 'own' }),
    'no language model of the type own (OwnForCausalLM)',
  ],
  'code that is needed': [
    () => configured({ architectures: ['OwnForCausalLM'], model_type: 'own', auto_map: code }),
    'auto_map in config.json',
  ],
  'a shard that is missing': [
    () =>
      changed((folder) => {
        move(folder, shards[0] as string);
        write(folder, 'model.safetensors.index.json', index);
      }),
    `1 of 2 weight files of`,
  ],
  'shards without an index': [
    () => changed((folder) => move(folder, ...shards)),
    '2 weight files and no model.s',
  ],
  "Mistral's own file alone": [
    () => changed((folder) => move(folder, 'consolidated.safetensors')),
    'only as consolidated.safetensors',
  ],
  'an adapter with a configuration': [
    () =>
      changed((folder) => {
        move(folder, 'adapter_model.safetensors');
        write(folder, 'adapter_config.json', adapter);
      }),
    'is an adapter (LoRA)',
  ],
  'an adapter alone': [
    () =>
      changed((folder) => {
        move(folder, 'adapter_model.safetensors');
        write(folder, 'adapter_config.json', adapter);
        rmSync(join(folder, 'config.json'));
      }),
    'is an adapter (LoRA)',
  ],
  'a model that was trained here': [
    () =>
      changed((folder) => {
        rmSync(join(folder, 'config.json'));
        write(folder, 'template.json', {});
      }),
    'is a model that was trained here',
  ],
  'weights for answering only': [
    () => configured({ quantization_config: { quant_method: 'exl2' } }),
    '(exl2)',
  ],
  'weights that no installed package reads': [
    () => configured({ quantization_config: { quant_method: 'hqq' } }),
    'not installed: hqq',
  ],
  'codes in an unknown form': [
    () => configured({ quantization_config: { quant_method: 'gptq', checkpoint_format: 'marlin' } }),
    'in the form marlin; Hone reads gptq, gptq_v2',
  ],
  'codes of sparse weights': [
    () =>
      configured({
        quantization_config: {
          quant_method: 'compressed-tensors',
          format: 'pack-quantized',
          sparsity_config: { format: 'sparse-24-bitmask' },
        },
      }),
    'in the form sparse-24-bitmask',
  ],
  'a file': [() => join(tinyModel('llama'), weights), 'is a file, not a model folder'],
  'no folder': [() => join(temporaryFolder(), 'nowhere'), 'does not exist'],
};

const check = async (model: string): Promise<Json> =>
  (await service.call('POST', '/api/base_models/check', { model })).body;

for (const [name, [folder, words]] of Object.entries(refused)) {
  test(`${name} is refused by the check, the estimate and a start alike`, async () => {
    const model = folder();
    const { usable, problem } = await check(model);
    assert.is(usable, false);
    assert.match(problem.message, words);
    const request = quickRequest({ model_name: model });
    const start = await service.call('POST', '/api/start_training', request);
    assert.is(start.status, 400, JSON.stringify(start.body));
    assert.match(start.body.detail, words);
    const { status, body } = await service.call('POST', '/api/estimate', request);
    assert.ok(status === 200 || status === 400, JSON.stringify(body));
    assert.match(status === 200 ? body.advice.join('\n') : body.detail, words);
  });
}

test('code that nobody needs is no obstacle', async () => {
  const native = [
    configured({ auto_map: code }),
    configured({ architectures: ['Phi3ForCausalLM'], model_type: 'phi3', auto_map: code }),
    configured({ architectures: ['DeepseekV3ForCausalLM'], model_type: 'deepseek_v3', auto_map: code }),
    configured({ architectures: ['PhiMoEForCausalLM'], model_type: 'phimoe', auto_map: code }),
    configured({ architectures: ['MPTForCausalLM'], model_type: 'mpt', auto_map: code }),
    changed((folder) => write(folder, 'processor_config.json', { auto_map: { AutoProcessor: 'own.Own' } })),
    changed((folder) => {
      const path = join(folder, 'tokenizer_config.json');
      const config = JSON.parse(readFileSync(path, 'utf8'));
      write(folder, 'tokenizer_config.json', { ...config, auto_map: { AutoTokenizer: ['own.Own', null] } });
    }),
  ];
  for (const model of native)
    assert.equal(await check(model), { usable: true, problem: null, hub: null, notes: [], adapter: null });
});

test('a model that one task alone can be trained with is told', async () => {
  const model = configured({ architectures: ['BertModel'], model_type: 'bert' });
  const note = 'This model can be trained for extractive-question-answering only.';
  assert.equal(await check(model), { usable: true, problem: null, hub: null, notes: [note], adapter: null });
  const start = await service.call('POST', '/api/start_training', quickRequest({ model_name: model }));
  assert.is(start.status, 400);
  assert.match(start.body.detail, 'BertModel cannot be trained for text-generation');
});

test('a second copy of the weights is not counted, and an adapter beside them is told', async () => {
  const estimate = async (model: string) =>
    (await service.call('POST', '/api/estimate', quickRequest({ model_name: model }))).body;
  const plain = await estimate(tinyModel('llama'));
  const model = changed((folder) => {
    cpSync(join(folder, weights), join(folder, 'consolidated.safetensors'));
    write(folder, 'adapter_config.json', adapter);
  });
  const { parameters, advice } = await estimate(model);
  assert.is(parameters, plain.parameters);
  assert.match(advice.join('\n'), 'An adapter lies beside the weights');
  assert.match((await check(model)).notes.join('\n'), 'An adapter lies beside the weights');
});

/** A safetensors file of zeros. */
function tensors(shapes: Record<string, { dtype: string; shape: number[] }>): Buffer {
  let end = 0;
  const placed = Object.entries(shapes).map(([name, { dtype, shape }]) => {
    const start = end;
    end += shape.reduce((product, size) => product * size, dtype === 'F16' ? 2 : 4);
    return [name, { dtype, shape, data_offsets: [start, end] }];
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(placed)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(end)]);
}

test('weights of four bits are counted as weights, and those that are dequantized are told', async () => {
  // Two tensors as bitsandbytes stores them: 128 weights in 64 bytes, with their scales.
  const header = JSON.stringify({
    'a.weight': { dtype: 'U8', shape: [64, 1], data_offsets: [0, 64] },
    'a.weight.absmax': { dtype: 'F32', shape: [2], data_offsets: [64, 72] },
    'a.weight.quant_state.bitsandbytes__nf4': { dtype: 'U8', shape: [8], data_offsets: [72, 80] },
    'norm.weight': { dtype: 'F32', shape: [2], data_offsets: [80, 88] },
  });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const stored = { quant_method: 'bitsandbytes', load_in_4bit: true };
  const model = changed(
    (folder) =>
      writeFileSync(join(folder, weights), Buffer.concat([length, Buffer.from(header), Buffer.alloc(88)])),
    { quantization_config: stored },
  );
  const request = quickRequest({ model_name: model });
  const { body } = await service.call('POST', '/api/estimate', request);
  assert.is(body.parameters, 130);
  assert.is(body.precision, '4-bit');
  const fp8 = configured({ quantization_config: { quant_method: 'fp8' } });
  assert.match((await check(fp8)).notes.join('\n'), 'become 16- or 32-bit weights for the training');
  // 16 rows of eight numbers in each word, and a plain tensor.
  const codes = tensors({
    'a.qweight': { dtype: 'I32', shape: [16, 8] },
    'a.qzeros': { dtype: 'I32', shape: [1, 1] },
    'a.scales': { dtype: 'F16', shape: [1, 8] },
    'a.g_idx': { dtype: 'I32', shape: [128] },
    'norm.weight': { dtype: 'F32', shape: [2] },
  });
  const gptq = changed((folder) => writeFileSync(join(folder, weights), codes), {
    quantization_config: { quant_method: 'gptq', bits: 4 },
  });
  const packed = await service.call('POST', '/api/estimate', quickRequest({ model_name: gptq }));
  assert.is(packed.body.parameters, 16 * 8 * 8 + 2);
  assert.match((await check(gptq)).notes.join('\n'), 'stored quantized (gptq) and become 16- or 32-bit');
  const twice = quickRequest({ model_name: fp8, use_4bit: true });
  const { status, body: answer } = await service.call('POST', '/api/start_training', twice);
  assert.is(status, 400);
  assert.match(answer.detail, 'a second time: they are stored quantized (fp8)');
});

test.run();
