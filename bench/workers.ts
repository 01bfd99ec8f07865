import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeInputs } from './harness/inputs.ts';
import { runMeasured } from './harness/measured.ts';
import { python, root } from './harness/places.ts';
import type { Scenario, Side, TrialInput } from './harness/scenario.ts';
import { unmeasured, writeSpec } from './harness/training.ts';

/*
 * Two workers on two cores and one process on one of them, each bound to its cores: the same steps, with real tokens
 * (without padding) per second of wall time from the end of the second step to the end of the last. The losses of every
 * step must agree: the gradients are added in another order, and nothing else differs.
 */

/** The largest relative difference between the losses of a step. */
const nearness = 1e-3;

interface Step {
  readonly loss: number;
  readonly tokens: number;
  readonly elapsed_seconds: number;
}

/** Where the two cores are, as `taskset` takes them; the first two that this process may use. */
function cores(): string[] {
  const list =
    execFileSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' }).split(': ')[1] ?? '';
  return list
    .trim()
    .split(',')
    .flatMap((part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
    })
    .slice(0, 2);
}

function missing(): string | null {
  try {
    return cores().length === 2 ? null : 'it needs two cores';
  } catch {
    return 'it needs taskset (util-linux)';
  }
}

async function trial(workers: number, { dir, size, number }: TrialInput) {
  const job = join(dir, `workers-${workers}-${number}`);
  const changes = { workers, per_device_train_batch_size: 4, gradient_accumulation_steps: 2 };
  const spec = writeSpec(dir, job, size, 'input-output', changes);
  const bound = ['-c', cores().slice(0, workers).join(), python, '-m', 'trainer', 'run', spec];
  const env = { OMP_NUM_THREADS: String(workers), HF_HUB_OFFLINE: '1', PYTHONPATH: root };
  await runMeasured('taskset', bound, { cwd: job, env });
  const lines = readFileSync(join(job, 'journal.jsonl'), 'utf8').trim().split('\n');
  const steps: Step[] = lines.map((line) => JSON.parse(line)).filter(({ type }) => type === 'metric');
  const [begun, last] = [steps[unmeasured - 1] as Step, steps.at(-1) as Step];
  return {
    figures: { rate: (last.tokens - begun.tokens) / (last.elapsed_seconds - begun.elapsed_seconds) },
    answer: steps.map(({ loss, tokens }) => ({ loss, tokens })),
  };
}

const side = (name: string, about: string, workers: number): Side => ({
  name,
  about,
  missing,
  trial: (input) => trial(workers, input),
});

export const scenario: Scenario = {
  name: 'workers',
  about: 'real tokens per second of wall time with two workers on two cores, at equal losses',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('training_inputs.py', [input.size, 'input-output'], input),
  sides: [
    side('two workers', 'python -m trainer, workers 2, on two cores', 2),
    side('one process', 'python -m trainer, workers 1, on one core', 1),
  ],
  comparisons: [
    {
      ...{
        metric: 'tokens per second',
        figure: 'rate',
        unit: 'tokens/s',
        better: 'more',
        peer: 'one process',
      },
      goal: { times: 1.7 },
    },
  ],
  check(answers) {
    const [two, one] = [answers['two workers'], answers['one process']] as [Step[], Step[]];
    for (const [index, step] of one.entries()) {
      const other = two[index];
      const near = other !== undefined && Math.abs(other.loss - step.loss) <= nearness * Math.abs(step.loss);
      if (!near || other.tokens !== step.tokens)
        throw new Error(`step ${index + 1} differs: ${JSON.stringify(other)}, ${JSON.stringify(step)}`);
    }
  },
};
