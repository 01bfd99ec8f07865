import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { directionOf } from '../../../src/contract/sweeps.ts';
import { corners } from '../../../src/domain/sweeps/sweep-request.ts';

const valuesOf = (space: NonNullable<Parameters<typeof corners>[0]['space']>, name: string) =>
  corners({ space }).map((request) => (request as Record<string, unknown>)[name]);

test('a space is judged by each choice in words, and by both ends of numbers and ranges', () => {
  const space = {
    lr_scheduler_type: { choices: ['linear', 'cosine', 'constant'] },
    lora_r: { choices: [4, 8, 16, 32] },
    learning_rate: { low: 1e-5, high: 1e-3 },
  };
  assert.equal(valuesOf(space, 'lr_scheduler_type'), ['linear', 'cosine', 'constant']);
  assert.equal(valuesOf(space, 'lora_r'), [4, 32, 4]);
  assert.equal(valuesOf(space, 'learning_rate'), [1e-5, 1e-3, 1e-5]);
});

test('words begin anew where another dimension has more of them', () => {
  const space = {
    lr_scheduler_type: { choices: ['linear', 'cosine', 'constant'] },
    optim: { choices: ['adamw_torch', 'sgd'] },
  };
  assert.equal(valuesOf(space, 'optim'), ['adamw_torch', 'sgd', 'adamw_torch']);
});

test('nothing that varies is one request', () => {
  assert.is(corners({ space: {} }).length, 1);
  assert.is(corners({}).length, 1);
});

test('the grader of the metric is the first of every trial, and its score is maximized whatever it is called', () => {
  const metric = 'grader:no errors';
  const graders = (one: object) => corners({ space: {}, metric, ...one })[0]?.graders;
  assert.equal(graders({}), ['no errors']);
  assert.equal(graders({ graders: ['brief', { name: 'no errors', weight: 2 }] }), [
    { name: 'no errors', weight: 2 },
    'brief',
  ]);
  for (const strategy of ['grpo', 'rlhf']) assert.equal(graders({ graders: ['brief'], strategy }), ['brief']);
  assert.equal([metric, 'eval_loss'].map(directionOf), ['maximize', 'minimize']);
});

test.run();
