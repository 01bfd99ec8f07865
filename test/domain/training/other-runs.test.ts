/** What runs that are going take of the memory and disk that are free. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { unknownKind } from '../../../src/domain/base-models/gguf/gguf-verdict.ts';
import type { ModelSize } from '../../../src/domain/base-models/model-size.ts';
import {
  type OtherRun,
  reservedAdvice,
  stillTakes,
} from '../../../src/domain/training/estimate/other-runs.ts';
import { runNeed } from '../../../src/domain/training/estimate/run-need.ts';
import { type SettingsContext, settingsOf } from '../../../src/domain/training/settings.ts';

const context: SettingsContext = {
  ...{ profile: 'low_end', cuda: false, quantizes: true, bfloat16FromWidth: null, cores: 8, gpus: 0 },
  ...{ cluster: false, oneWorker: [], defaultBatchSize: null, lrSchedulerTypes: [], optimizers: [] },
  optimizerStateBytes: {},
};
const size: ModelSize = {
  parameters: 600e6,
  shape: {
    hidden: 1024,
    intermediate: 3072,
    keyValue: 1024,
    layers: 28,
    vocabulary: 151_936,
    parameters: 600e6,
  },
  ...{
    kind: unknownKind,
    withCode: [],
    withoutTokenizer: false,
    whyNoWeights: null,
    hasAdapterBeside: false,
    local: true,
  },
};
const disk = {
  ...{
    checkpointsBytes: 1e6,
    teacherBytes: 0,
    checkpointsPerTrainedWeight: 12,
    exportPerWeight: 1,
    exportPerTrainedWeight: 4,
  },
  spareBytes: 1e6,
};
const run = (changes: Partial<OtherRun> & { readonly of?: SettingsContext } = {}): OtherRun => {
  const settings = settingsOf({ task: 't', model_name: 'a/b', dataset: 'd' }, changes.of ?? context);
  return {
    ...{
      name: 'train_1',
      modelName: 'a/b',
      disk,
      isBeside: true,
      memoryBytes: 0,
      writtenBytes: 0,
      devices: [],
    },
    choices: { task: 't', strategy: 'sft', provider: 'standard', settings },
    ...changes,
  };
};
const need = runNeed(size, { ...run().choices, context }, disk);

test('a run takes what it needs, less what it has already', () => {
  assert.equal(stillTakes(run(), size, context), {
    name: 'train_1',
    memoryBytes: need.bytes,
    diskBytes: need.fine?.disk.totalBytes,
  });
  const later = stillTakes(run({ memoryBytes: 1e9, writtenBytes: 2e6 }), size, context);
  assert.is(later.memoryBytes, (need.bytes as number) - 1e9);
  assert.is(later.diskBytes, (need.fine?.disk.totalBytes as number) - 2e6);
  const more = stillTakes(run({ memoryBytes: 1e12, writtenBytes: 1e12 }), size, context);
  assert.equal([more.memoryBytes, more.diskBytes], [0, 0]);
});

test('what a run downloads is not counted, since some of it is there', () => {
  assert.equal(stillTakes(run(), { ...size, local: false }, context), stillTakes(run(), size, context));
});

test('memory of a run that ends first, or that has a GPU, is not taken', () => {
  assert.is(stillTakes(run({ isBeside: false }), size, context).memoryBytes, 0);
  const cuda = { ...context, cuda: true, gpus: 1 };
  assert.is(stillTakes(run({ of: cuda }), size, cuda).memoryBytes, 0);
});

test('each run that takes something is told', () => {
  assert.equal(
    reservedAdvice([
      { name: 'train_1', memoryBytes: 2.14e9, diskBytes: 4.2e8 },
      { name: 'train_2', memoryBytes: 0, diskBytes: 1e9 },
      { name: 'train_3', memoryBytes: 1e6, diskBytes: 1e6 },
    ]),
    [
      'Another run is using this machine: train_1 will still take about 2.1 GB of memory and 0.4 GB of disk, not counted as free here.',
      'Another run is using this machine: train_2 will still take about 1.0 GB of disk, not counted as free here.',
    ],
  );
});

test.run();
