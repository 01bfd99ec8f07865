import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Choice,
  createTrainerRegistry,
  rowShapesFor,
} from '../../../src/domain/machine/trainer-registry.ts';
import { createFaults } from '../../../src/faults.ts';
import type { Description } from '../../../src/trainer/protocol.ts';

const description = {
  tasks: [
    { name: 'text-generation', row_shapes: ['input-output', 'conversation'] },
    { name: 'summarization', row_shapes: ['input-output'] },
  ],
  strategies: [
    { name: 'sft', row_shape: null },
    { name: 'dpo', row_shape: 'preference' },
  ],
  providers: [
    { name: 'standard', available: true, reason: null },
    { name: 'accelerated', available: false, reason: 'There is no GPU.' },
  ],
  combinations: [
    { task: 'text-generation', strategy: 'sft', provider: 'standard' },
    { task: 'summarization', strategy: 'sft', provider: 'standard' },
    { task: 'text-generation', strategy: 'dpo', provider: 'standard' },
  ],
} as unknown as Description;
const registry = createTrainerRegistry(async () => description);

async function judged(changes: Partial<Choice>) {
  const faults = createFaults();
  const asked = { task: 'text-generation', strategy: 'sft', provider: 'standard', ...changes };
  const choice = await registry.judge(asked, faults);
  return { choice, faults: faults.issues().map(({ loc, msg }) => `${loc.join('.')}: ${msg}`) };
}

test('what exists and can be combined is taken, with the aliases of providers', async () => {
  assert.equal(await judged({}), {
    choice: { task: 'text-generation', strategy: 'sft', provider: 'standard' },
    faults: [],
  });
  assert.is((await judged({ provider: 'huggingface' })).choice.provider, 'standard');
  assert.equal((await judged({ task: null, strategy: null, provider: null })).faults, []);
});

test('what does not exist, or not together, is refused with what does', async () => {
  const unknown = await judged({ task: 'juggling', strategy: 'osmosis' });
  assert.equal([unknown.choice.task, unknown.choice.strategy], [null, null]);
  assert.match(
    unknown.faults[0] as string,
    'task: "juggling" is not a valid task. Allowed: text-generation, summarization',
  );
  assert.is(unknown.faults.length, 2);
  assert.match((await judged({ provider: 'unsloth' })).faults[0] as string, 'There is no GPU.');
  const apart = await judged({ task: 'summarization', strategy: 'dpo' });
  assert.match(apart.faults[0] as string, 'does not support "summarization". Supported: text-generation.');
});

test('a description that failed is asked for again', async () => {
  let asked = 0;
  const flaky = createTrainerRegistry(async () => {
    asked += 1;
    if (asked === 1) throw new Error('no Python');
    return description;
  });
  assert.is(await flaky.get().catch((error: Error) => error.message), 'no Python');
  await flaky.checkTask('summarization');
  await flaky.checkTask('text-generation');
  assert.is(asked, 2);
  assert.match(String(await flaky.checkTask('juggling').catch((error: Error) => error)), 'juggling');
});

test('rows have the strategy’s shape, or those of the task', () => {
  assert.equal(rowShapesFor(description, 'text-generation', 'dpo'), ['preference']);
  assert.equal(rowShapesFor(description, 'summarization', 'sft'), ['input-output']);
  assert.is(rowShapesFor(description, 'summarization', null), null);
});

test.run();
