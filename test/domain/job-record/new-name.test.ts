/** The names of new runs, which tell them from earlier ones. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { newName } from '../../../src/domain/job-record/new-name.ts';

interface Run {
  readonly displayName: string;
  readonly modelName: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

const usual = { num_train_epochs: 6, max_steps: -1, learning_rate: 0.003, lora_r: 16, lora_alpha: 32 };

/** Names runs one after the other. */
function nameAll(
  runs: readonly (Partial<Pick<Run, 'modelName'>> & { readonly changes?: object })[],
): string[] {
  const made: Run[] = [];
  for (const { modelName = 'acme/small', changes = {} } of runs) {
    const settings = { ...usual, ...changes };
    const displayName = newName(
      { modelName, datasetName: 'support.jsonl', settings },
      {
        named: (beginning) =>
          made
            .map((run, id) => ({ id, displayName: run.displayName }))
            .filter((run) => run.displayName.startsWith(beginning))
            .reverse(),
        madeWith: (id) => made[id] as Run,
      },
    );
    made.push({ displayName, modelName, settings });
  }
  return made.map((run) => run.displayName);
}

test('a run has the default name, what differs from the newest that has it, and a number if that is taken', () => {
  const names = nameAll([
    {},
    { changes: { lora_r: 32, lora_alpha: 64 } },
    { changes: { lora_r: 32, lora_alpha: 64 } },
    { changes: { learning_rate: 2e-4 } },
    { changes: { packing: true, lora_r: 32, lora_alpha: 64 } },
    { modelName: '/models/large', changes: { lora_alpha: 64 } },
    {},
    {},
    {},
  ]);
  assert.equal(names, [
    'support · 6 epochs · 3e-3',
    'support · 6 epochs · 3e-3 · LoRA rank 32',
    'support · 6 epochs · 3e-3 · LoRA rank 32 (2)',
    'support · 6 epochs · 2e-4',
    'support · 6 epochs · 3e-3 · Packing on',
    'support · 6 epochs · 3e-3 · large · LoRA rank 16',
    'support · 6 epochs · 3e-3 · small · LoRA alpha 32',
    'support · 6 epochs · 3e-3 · small · LoRA alpha 32 (2)',
    'support · 6 epochs · 3e-3 · small · LoRA alpha 32 (3)',
  ]);
  assert.is(new Set(names).size, names.length);
});

test('a long name is cut to its bounds, with its number', () => {
  const names = nameAll([
    { changes: { sample_prompts: ['x'] } },
    { modelName: `a/${'🚀'.repeat(100)}` },
    { modelName: `b/${'🚀'.repeat(100)}` },
    { modelName: `c/${'🚀'.repeat(100)}` },
  ]);
  for (const name of names)
    assert.ok(name.length <= 120 && !/[\ud800-\udbff](?![\udc00-\udfff])/.test(name), name);
  assert.is(new Set(names).size, 4);
});

test.run();
