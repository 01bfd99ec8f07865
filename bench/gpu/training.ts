import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeInputs } from '../harness/inputs.ts';
import { runMeasured } from '../harness/measured.ts';
import { programs, python, pythonVersion, root } from '../harness/places.ts';
import type { Comparison, Scenario, Side, Size, Trial, TrialInput } from '../harness/scenario.ts';
import { compareSteps, learningRate, type Step, unmeasured, writeSpec } from '../harness/training.ts';
import { type Device, missingGpu } from './device.ts';

/*
 * Supervised fine-tuning with LoRA of a Llama of a billion parameters: real tokens per second of wall time from the end
 * of the second step to the end of the last, and the most memory of the GPU that torch has reserved until then. The
 * providers take the same rows in the same steps; with TRL's defaults the losses of every step must agree to 1 %, and
 * between the providers that of the first step, because Unsloth initializes LoRA otherwise.
 */

const steps: Record<Size, number> = { full: 40, quick: 12, test: 4 };
const env = { HF_HUB_OFFLINE: '1', PYTHONPATH: root };
/** Threads that wait for each other take longer than all of a tiny model's work. */
const tiny = { OMP_NUM_THREADS: '1' };

function figuresOf(told: readonly Timed[]): Trial {
  const begun = told[unmeasured - 1] as Timed;
  const last = told.at(-1) as Timed;
  return {
    figures: {
      rate: (last.tokens - begun.tokens) / (last.at - begun.at),
      memory: Math.max(...told.map(({ memory }) => memory)) / 2 ** 20,
    },
    answer: told,
  };
}

interface Timed extends Step {
  /** In seconds. */
  readonly at: number;
  readonly memory: number;
}

/** The steps in the journal of a job. @throws with its failure, if it has one. */
function stepsOf(job: string): readonly Timed[] {
  const path = join(job, 'journal.jsonl');
  const lines = existsSync(path)
    ? readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .map((text) => JSON.parse(text))
    : [];
  const last = lines.at(-1);
  if (last?.type !== 'done') throw new Error(last?.message ?? 'the trainer wrote nothing');
  return lines
    .filter(({ type }) => type === 'metric')
    .map((line) => ({ ...line, at: line.elapsed_seconds, memory: line.memory_bytes, cpu_seconds: 0 }));
}

function ours(provider: 'accelerated' | 'standard', device: Device): Side['trial'] {
  return async ({ dir, size, number }) => {
    const job = join(dir, `${provider}-${number}`);
    const changes = { device, max_steps: steps[size] };
    const spec = writeSpec(dir, job, size, 'input-output', changes, { provider });
    const threads = size === 'test' ? tiny : {};
    const run = await runMeasured(python, ['-m', 'trainer', 'run', spec], { env: { ...env, ...threads } })
      // Its journal says why it failed.
      .catch((error: Error) => error);
    try {
      return figuresOf(stepsOf(dirname(spec)));
    } catch (error) {
      throw run instanceof Error
        ? new Error(`${provider}: ${(error as Error).message}`, { cause: run })
        : error;
    }
  };
}

/** What the trainer says to a job of the accelerated provider where it cannot run. */
export async function refusal(input: TrialInput): Promise<string> {
  try {
    await ours('accelerated', 'cpu')(input);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the accelerated provider trained on a CPU');
}

const comparison = (
  better: 'less' | 'more',
  more: Pick<Comparison, 'metric' | 'peer' | 'goal'>,
  of?: string,
) =>
  ({
    ...(better === 'more' ? { figure: 'rate', unit: 'tokens/s' } : { figure: 'memory', unit: 'MiB' }),
    ...{ better, ...more, ...(of !== undefined && { ours: of }) },
  }) satisfies Comparison;

/** The scenario on `device`; on a CPU without what needs a GPU. */
export const training = (device: Device): Scenario => ({
  name: 'gpu-training',
  about: 'real tokens per second and peak memory of the providers on a GPU, at equal loss',
  runs: { full: 2, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) =>
    makeInputs('training_inputs.py', [input.size === 'test' ? 'test' : 'gpu', 'input-output'], input),
  sides: [
    {
      name: 'accelerated',
      about: async () => `python -m trainer with Unsloth ${await pythonVersion('unsloth')}`,
      missing: async () =>
        missingGpu() ?? ((await pythonVersion('unsloth')) ? null : 'npm start adds unsloth'),
      trial: ours('accelerated', device),
    },
    { name: 'standard', about: 'python -m trainer, the same settings', trial: ours('standard', device) },
    {
      name: 'TRL',
      about: async () => `a plain script, TRL ${await pythonVersion('trl')}, its default settings`,
      trial: async ({ dir, size, number }) => {
        const args = [String(steps[size]), String(learningRate), join(dir, `TRL-${number}`), 'input-output'];
        const { stdout, peakBytes } = await runMeasured(
          python,
          [join(programs, 'training_trl.py'), dir, ...args],
          { env: { ...env, ...(size === 'test' ? tiny : {}), BENCH_DEVICE: device } },
        );
        const told = JSON.parse(stdout.slice(stdout.trimEnd().lastIndexOf('\n') + 1)) as Timed[];
        return figuresOf(told.map((step) => ({ ...step, memory: step.memory ?? peakBytes })));
      },
    },
  ],
  comparisons: [
    comparison('more', { metric: 'tokens per second', peer: 'standard', goal: { times: 2 } }),
    comparison('more', { metric: 'tokens per second, stretch goal', peer: 'standard', goal: { times: 2.5 } }),
    comparison('less', { metric: 'peak memory', peer: 'standard', goal: { share: 0.8 } }),
    comparison('less', { metric: 'peak memory, stretch goal', peer: 'standard', goal: { share: 0.5 } }),
    comparison('more', { metric: 'standard: tokens per second', peer: 'TRL', goal: null }, 'standard'),
    comparison('less', { metric: 'standard: peak memory', peer: 'TRL', goal: { share: 1 } }, 'standard'),
  ],
  check: (answers) => {
    const { accelerated, standard, TRL } = answers as Record<string, Step[] | undefined>;
    compareSteps(standard ?? [], TRL ?? []);
    if (accelerated !== undefined) compareSteps(accelerated.slice(0, 1), (standard ?? []).slice(0, 1));
  },
});
