import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Quantization } from '../../../src/contract/models/quantizations.ts';
import { shapeOf } from '../../../src/domain/base-models/model-shape.ts';
import { type DiskSettings, diskNeed } from '../../../src/domain/training/estimate/disk-need.ts';
import { estimate, simpleEstimate } from '../../../src/domain/training/estimate/estimate.ts';

/** What a run writes with the recommended settings. */
const needOf = (
  types: readonly Quantization[],
  changes: Partial<DiskSettings> = {},
  rows: number | null = null,
) =>
  diskNeed(
    {
      num_train_epochs: 3,
      max_steps: -1,
      per_device_train_batch_size: 1,
      gradient_accumulation_steps: 8,
      eval_split: 0,
      group_size: null,
      optim: 'adamw_torch',
      save_steps: null,
      save_total_limit: 2,
      keep_best: false,
      adapter: 'lora',
      teacher_top_k: 64,
      ...changes,
    },
    8,
    { strategy: 'sft', rows },
    types,
  );
/** Qwen3-0.6B, from its config.json; its embedding is its head, too. */
const shape = {
  parameters: 596_000_000,
  layers: 28,
  hidden: 1024,
  intermediate: 3072,
  keyValue: 1024,
  vocabulary: 151_936,
};
const settings = {
  precision: '16-bit',
  batchSize: 1,
  sequenceLength: 512,
  sequencesPerRow: 1,
  loraRank: 16,
  trainsAll: false,
  stateBytes: 8,
  targetExperts: false,
  trainedRows: 0,
  gradientCheckpointing: true,
  paddingFree: false,
  writtenRows: 0,
  models: 1,
  disk: needOf(['Q8_0']),
  download: true,
  gpu: true,
  copies: 1,
} as const;

test('the simple estimate is the specification’s: parameters × factor × 1.5', () => {
  assert.equal(simpleEstimate(7e9), { '4-bit': 5.25, '8-bit': 10.5, '16-bit': 21, '32-bit': 42 });
});

test('the parts add up, on the disk and in memory', () => {
  const { totalBytes, disk, ...parts } = estimate(shape, settings);
  assert.is(
    Object.values(parts).reduce((sum, part) => sum + part, 0),
    totalBytes,
  );
  assert.is(disk.totalBytes, disk.downloadBytes + disk.checkpointsBytes + disk.exportBytes + disk.spareBytes);
  assert.is(estimate(shape, { ...settings, download: false }).disk.downloadBytes, 0);
});

test('keys and values of written answers count where a step takes less, and the model that rewards', () => {
  const here = { ...settings, gpu: false, paddingFree: true, batchSize: 8 };
  const base = estimate(shape, here);
  // Eight accumulated times eight rows of 512 tokens, of which each of 28 layers keeps two vectors in float32.
  const written = estimate(shape, { ...here, writtenRows: 64 });
  assert.is(written.activationsBytes, 64 * 512 * 28 * 2 * 1024 * 4);
  assert.ok(written.activationsBytes > base.activationsBytes);
  // A step that is not divided takes more than the keys and values of its own rows.
  const { activationsBytes } = estimate(shape, { ...here, writtenRows: 8, gradientCheckpointing: false });
  const divided = estimate(shape, { ...here, gradientCheckpointing: false });
  assert.is(activationsBytes / divided.activationsBytes, (8 * 512) / 1280);
  assert.is(estimate(shape, { ...here, models: 2 }).weightsBytes, 2 * base.weightsBytes);
});

test('quantization makes the blocks small, not the embedding', () => {
  const weights = (precision: '4-bit' | '8-bit' | '16-bit' | '32-bit') =>
    estimate(shape, { ...settings, precision }).weightsBytes;
  const embedding = 2 * shape.vocabulary * shape.hidden;
  assert.is(weights('16-bit'), 2 * shape.parameters);
  assert.is(weights('32-bit'), 4 * shape.parameters);
  assert.ok(weights('4-bit') > embedding && weights('4-bit') < embedding + 0.6 * shape.parameters);
  assert.ok(weights('8-bit') > weights('4-bit') && weights('8-bit') < weights('16-bit'));
});

test('rows and length cost activations, checkpointing saves them, rank costs the adapter', () => {
  const base = estimate(shape, settings);
  const wide = estimate(shape, { ...settings, batchSize: 4 });
  assert.is(wide.activationsBytes, 4 * base.activationsBytes);
  assert.is(wide.weightsBytes, base.weightsBytes);
  const kept = estimate(shape, { ...settings, gradientCheckpointing: false });
  assert.ok(kept.activationsBytes > 5 * base.activationsBytes);
  assert.is(estimate(shape, { ...settings, loraRank: 32 }).adapterBytes, 2 * base.adapterBytes);
});

test('experts have no adapter, dense and shared layers do', () => {
  const sizes = {
    hidden_size: 2048,
    num_hidden_layers: 48,
    num_attention_heads: 16,
    num_key_value_heads: 4,
    intermediate_size: 6144,
    vocab_size: 151_936,
  };
  const trained = (config: object, targetExperts = false) => {
    const found = shapeOf({ ...sizes, ...config }, 30e9);
    if (found === null) return 0;
    return estimate(found, { ...settings, targetExperts }).adapterBytes / 4 / settings.loraRank;
  };
  const attention = 48 * (4 * 2048 + 2 * (2048 + 512));
  assert.is(trained({}), attention + 48 * 3 * (2048 + 6144));
  const experts = { num_experts: 128, moe_intermediate_size: 768 };
  assert.is(trained(experts), attention);
  assert.is(trained(experts, true), attention + 48 * 128 * (2048 + 2 * 768 + 768 + 2048));
  assert.is(trained({ num_local_experts: 8 }), attention, 'experts of the width of a dense layer');
  assert.is(
    trained({ ...experts, n_shared_experts: 2, first_k_dense_replace: 3 }),
    attention + 3 * 3 * (2048 + 6144) + 45 * 3 * (2048 + 1536),
  );
});

test('a step on a GPU holds 2.75 copies of all logits, on a CPU two', () => {
  const whole = { ...settings, gradientCheckpointing: false, paddingFree: false };
  const copy = 4 * whole.batchSize * whole.sequenceLength * shape.vocabulary;
  assert.is(estimate(shape, { ...whole, gpu: true }).logitsBytes, 2.75 * copy);
  assert.is(estimate(shape, { ...whole, gpu: false }).logitsBytes, 2 * copy);
});

test('logits that are made in parts do not grow with the batch', () => {
  const parts = estimate(shape, { ...settings, paddingFree: true });
  const more = estimate(shape, { ...settings, paddingFree: true, batchSize: 8 });
  assert.is(more.logitsBytes, parts.logitsBytes);
  assert.ok(parts.logitsBytes < estimate(shape, settings).logitsBytes);
  const few = { ...shape, vocabulary: 500 };
  assert.is(
    estimate(few, { ...settings, paddingFree: true }).logitsBytes,
    estimate(few, settings).logitsBytes,
  );
});

test('a processor keeps the activations of one part of a large batch, or of one longer row', () => {
  const cpu = { ...settings, gpu: false, gradientCheckpointing: false, paddingFree: true } as const;
  const bytes = (more: object) => estimate(shape, { ...cpu, ...more }).activationsBytes;
  assert.is(bytes({ batchSize: 2 }), 2 * bytes({}));
  assert.is(bytes({ batchSize: 8 }), 2.5 * bytes({}));
  assert.is(bytes({ batchSize: 64 }), bytes({ batchSize: 8 }));
  assert.is(bytes({ batchSize: 8, sequenceLength: 2048 }), bytes({ sequenceLength: 2048 }));
  for (const whole of [{ gpu: true }, { paddingFree: false }]) {
    assert.is(bytes({ ...whole, batchSize: 8 }), 8 * bytes(whole));
  }
});

test('a processor that trains in bfloat16 keeps half the bytes of one that does not', () => {
  const cpu = { ...settings, gpu: false, gradientCheckpointing: false } as const;
  const half = estimate(shape, { ...cpu, precision: '16-bit' });
  const full = estimate(shape, { ...cpu, precision: '32-bit' });
  assert.is(2 * half.activationsBytes, full.activationsBytes);
  assert.is(2 * half.weightsBytes, full.weightsBytes);
  // Weights of 4 bits are computed with as float32 there.
  assert.is(estimate(shape, { ...cpu, precision: '4-bit' }).activationsBytes, full.activationsBytes);
});

test('all weights have a gradient and state, in memory and in checkpoints', () => {
  const whole = { ...settings, precision: '32-bit', trainsAll: true } as const;
  const { weightsBytes, adapterBytes, optimizerBytes } = estimate(shape, whole);
  assert.equal([weightsBytes, adapterBytes], [4 * shape.parameters, 0]);
  assert.is(optimizerBytes, 12 * shape.parameters, 'a gradient and two moments');
  assert.is(estimate(shape, { ...whole, stateBytes: 1 }).optimizerBytes, 5 * shape.parameters);
  const disk = needOf(['Q8_0'], { adapter: 'full' });
  const written = estimate(shape, { ...whole, disk }).disk;
  assert.ok(written.checkpointsBytes > 3 * 12 * shape.parameters, 'two, and one that is being written');
  const lora = estimate(shape, { ...settings, disk: needOf(['Q8_0']) }).disk;
  assert.ok(written.exportBytes - lora.exportBytes > 3.5 * shape.parameters, 'the model at 32 bits');
});

test('each further type of the export takes disk', () => {
  const disk = (types: Quantization[]) =>
    estimate(shape, { ...settings, disk: needOf(types) }).disk.exportBytes;
  assert.ok(disk([]) < disk(['Q8_0']) && disk(['Q8_0']) < disk(['Q8_0', 'Q4_K_M']));
  assert.ok(disk(['Q4_K_M']) > 2 * shape.parameters, 'it is made of a file at 16 bit');
  assert.is(disk(['F16', 'Q4_K_M']) - disk(['F16']), 0.7 * shape.parameters, 'which is there already');
});

test('checkpoints take what is kept of them, the best one, and the one being written', () => {
  const checkpoints = (changes: Partial<DiskSettings>, rows: number | null = null) =>
    needOf([], changes, rows).checkpointsPerTrainedWeight / (4 + 8);
  assert.is(checkpoints({}), 3);
  assert.is(checkpoints({ keep_best: true }), 4);
  assert.is(checkpoints({ save_total_limit: 5 }), 6, 'made by the clock, nobody knows how many');
  // 80 rows in steps of 8, three times: 30 steps.
  assert.is(checkpoints({ save_total_limit: 5, save_steps: 10 }, 80), 5);
  assert.is(checkpoints({ save_total_limit: 5, save_steps: 20 }, 80), 3);
});

test('a preference takes what was measured on an H200: two sequences a row', () => {
  const qwen = {
    ...{ parameters: 596e6, layers: 28, hidden: 1024, intermediate: 3072, keyValue: 1024 },
    vocabulary: 151_936,
  };
  const dpo = { ...settings, sequenceLength: 1024, sequencesPerRow: 2, paddingFree: false, gpu: true };
  for (const [batchSize, mebibytes] of [
    [1, 4399],
    [4, 13_652],
  ] as const) {
    const { totalBytes, runtimeBytes } = estimate(qwen, { ...dpo, batchSize });
    const share = (totalBytes - runtimeBytes) / 2 ** 20 / mebibytes;
    assert.ok(share > 0.95 && share < 1.15, `${batchSize}: ${share}`);
  }
});

test('embeddings that are trained take memory and disk as an adapter does, and a frozen copy stays', () => {
  const rows = 2 * shape.vocabulary;
  const [without, beside] = [estimate(shape, settings), estimate(shape, { ...settings, trainedRows: rows })];
  const more = 4 * rows * shape.hidden;
  assert.is(beside.adapterBytes - without.adapterBytes, more);
  assert.is(beside.optimizerBytes - without.optimizerBytes, 3 * more);
  assert.is(beside.weightsBytes, without.weightsBytes);
  assert.ok(beside.disk.checkpointsBytes > without.disk.checkpointsBytes);
});

test.run();
