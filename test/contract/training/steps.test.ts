/** The count of steps that is told before a run, against the trainer's own, which a test there holds against real runs. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  comparesAnswers,
  heldOutRows,
  promptsPerStep,
  type StepSettings,
  shareOfStep,
  totalSteps,
} from '../../../src/contract/training/steps.ts';
import { root } from '../../service.ts';

/** The trainer's function over every case, told as numbers in a line each: once for all of them. */
const program = `
import json, sys
from types import SimpleNamespace
from trainer.data.steps import GENERATIONS, held_out_rows, planned, prompts_per_step, share_of_step
asked = json.load(sys.stdin)
for settings in asked["settings"]:
    settings = SimpleNamespace(**settings)
    for strategy in asked["strategies"]:
        if strategy in GENERATIONS and prompts_per_step(settings, strategy) is None:
            print("null")
            continue
        print(json.dumps([planned(settings, strategy, rows) for rows in range(asked["from"], asked["to"] + 1)]))
    print(json.dumps([share_of_step(settings, workers) for workers in range(1, 65)]))
for split in asked["splits"]:
    print(json.dumps([held_out_rows(rows, split) for rows in range(asked["from"], asked["to"] + 1)]))
`;

const [from, to] = [10, 1000];
const sizes = Array.from({ length: to - from + 1 }, (_, index) => from + index);
const strategies = ['sft', 'qlora', 'dpo', 'rlhf', 'grpo'];
const splits = [0, 0.001, 0.05, 0.1, 0.15, 0.2, 0.25, 1 / 3, 0.5, 0.9, 0.999];
const settings: StepSettings[] = [];
for (const eval_split of splits) {
  for (const [batch, accumulation] of [
    [1, 8],
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 2],
    [5, 7],
    [8, 3],
    [16, 16],
  ] as const) {
    for (const num_train_epochs of [0.1, 0.37, 1, 2.5, 3]) {
      settings.push({
        eval_split,
        num_train_epochs,
        max_steps: -1,
        per_device_train_batch_size: batch,
        gradient_accumulation_steps: accumulation,
        group_size: null,
      });
    }
  }
}
settings.push({ ...(settings[0] as StepSettings), max_steps: 77 });
settings.push(
  { ...(settings[0] as StepSettings), group_size: 4 },
  { ...(settings[0] as StepSettings), group_size: 16 },
);

/** JSON as JavaScript writes it. */
const packed = (json = '') => JSON.stringify(JSON.parse(json));

test(`every size from ${from} to ${to}, with ${settings.length} settings of each strategy`, () => {
  const told = execFileSync(join(root, 'trainer', '.venv', 'bin', 'python'), ['-c', program], {
    cwd: root,
    encoding: 'utf8',
    input: JSON.stringify({ settings, strategies, splits, from, to }),
    maxBuffer: 2 ** 28,
  });
  const lines = told.trim().split('\n');
  let line = 0;
  for (const one of settings) {
    for (const strategy of strategies) {
      const counted =
        comparesAnswers(strategy) && promptsPerStep(one, strategy) === null
          ? null
          : sizes.map((rows) => totalSteps(one, strategy, rows));
      if (JSON.stringify(counted) !== lines[line])
        assert.equal(counted, JSON.parse(lines[line] as string), `${strategy}, ${JSON.stringify(one)}`);
      line += 1;
    }
    const shares = Array.from({ length: 64 }, (_, index) => shareOfStep(one, index + 1));
    assert.is(
      JSON.stringify(shares.map((share) => share && [share.size, share.accumulation])),
      packed(lines[line]),
    );
    line += 1;
  }
  for (const split of splits) {
    assert.equal(
      sizes.map((rows) => heldOutRows(rows, split)),
      JSON.parse(lines[line] as string),
      `held out by ${split}`,
    );
    line += 1;
  }
  assert.is(line, lines.length);
});

test('none is held out of no rows', () => {
  assert.is(heldOutRows(0, 0.1), 0);
});

test.run();
