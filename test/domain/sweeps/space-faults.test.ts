import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { spaceFaults, spaceOf } from '../../../src/domain/sweeps/sweep-request.ts';

const fault = (space: Parameters<typeof spaceFaults>[0], trials?: number) =>
  spaceFaults(space, trials).join();

test('a space must vary something', () => {
  assert.match(fault({}), 'nothing would vary');
  assert.match(fault({ learning_rate: { choices: [1e-4] } }), 'a single combination');
  assert.is(fault({ learning_rate: { choices: [1e-4, 2e-4] } }), '');
});

test('there are as many combinations as the product of the dimensions', () => {
  const space = { lora_r: { low: 8, high: 10 }, learning_rate: { choices: [1e-4, 2e-4] } };
  assert.is(fault(space, 6), '');
  assert.match(fault(space, 7), 'trials is 7, and space has 6 combinations');
  // A range of any numbers has as many as one likes.
  assert.is(fault({ learning_rate: { low: 1e-5, high: 1e-3 } }, 1_000), '');
});

test('a dimension has choices or a range that rises', () => {
  assert.match(fault({ lora_r: { choices: [8], low: 8, high: 16 } }), 'leave one of them out');
  assert.match(fault({ lora_r: { choices: [8, 8] } }), 'a choice twice');
  assert.match(fault({ lora_r: { low: 8 } }), 'needs choices, or low and high');
  assert.match(fault({ lora_r: { low: 8, high: 8 } }), 'low must be less than high');
  assert.match(fault({ weight_decay: { low: 0, high: 0.1, log: true } }), 'low must be greater than 0');
  assert.equal(spaceOf({ lora_r: { low: 8, high: 16 }, learning_rate: { choices: [1e-4, 2e-4] } }), {
    lora_r: { low: 8, high: 16, log: false },
    learning_rate: { choices: [1e-4, 2e-4] },
  });
});

test.run();
