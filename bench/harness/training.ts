import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runMeasured } from './measured.ts';
import { programs, python, pythonVersion, root } from './places.ts';
import type { Scenario, Side, Size, Trial } from './scenario.ts';

/*
 * Supervised fine-tuning with LoRA on a CPU: real tokens (without padding) per second of the process's CPU time, from
 * the end of the second step to the end of the last. Both sides train the same rows in the same steps, and the losses
 * of every step must agree to 1 %.
 */

interface Step {
  readonly loss: number;
  readonly tokens: number;
  readonly cpu_seconds: number;
}

const steps: Record<Size, number> = { full: 12, quick: 6, test: 4 };
const learningRate = 1e-3;
/** Steps that are not measured: kernels are selected in the first ones. */
export const unmeasured = 2;
/** The largest relative difference between the losses of a step. */
const nearness = 0.01;
/** A second thread would spin while it waits for other load on the machine, and that time is counted. */
const env = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', PYTHONPATH: root };

async function trained(program: string, args: readonly string[]): Promise<Trial> {
  const { stdout, peakBytes } = await runMeasured(python, [join(programs, program), ...args], { env });
  const told = JSON.parse(stdout.slice(stdout.trimEnd().lastIndexOf('\n') + 1)) as Step[];
  const begun = told[unmeasured - 1] as Step;
  const last = told.at(-1) as Step;
  return {
    figures: {
      rate: (last.tokens - begun.tokens) / (last.cpu_seconds - begun.cpu_seconds),
      memory: peakBytes / 2 ** 20,
    },
    answer: told,
  };
}

/** What the rows are: an input and an output, or conversations. */
export type Rows = 'input-output' | 'messages';

/** The job as the service would write it for a request with only the peer's settings. */
export function writeSpec(dir: string, job: string, size: Size, rows: Rows, changes = {}): string {
  mkdirSync(job);
  const golden = JSON.parse(readFileSync(join(root, 'test', 'contract', 'spec.golden.json'), 'utf8'));
  const path = join(job, 'spec.json');
  const settings = {
    ...golden.settings,
    ...{ max_steps: steps[size], learning_rate: learningRate, per_device_train_batch_size: 8 },
    ...{ gradient_accumulation_steps: 1, max_seq_length: 1024, warmup_ratio: 0, seed: 42, device: 'cpu' },
    ...{ lr_scheduler_type: 'linear', optim: 'adamw_torch_fused' },
    ...changes,
  };
  const spec = {
    ...golden,
    job_dir: job,
    model: { name: 'bench/model', path: join(dir, 'model') },
    dataset: { name: 'rows.jsonl', path: join(dir, 'rows.jsonl'), rows: 0, shape: rows },
    validation: null,
    settings,
    export: null,
    tensorboard_dir: null,
  };
  writeFileSync(path, JSON.stringify(spec));
  return path;
}

/** Both sides of a scenario that trains `rows`, which `training_inputs.py` has made. */
export const trainingSides = (rows: Rows): readonly [Side, Side] => [
  {
    name: 'hone',
    about: 'python -m trainer, with the same settings as the peer',
    trial: ({ dir, size, number }) =>
      trained('training_hone.py', [writeSpec(dir, join(dir, `job-${number}`), size, rows)]),
  },
  {
    name: 'TRL',
    about: async () => `a plain script, TRL ${await pythonVersion('trl')}, its default settings`,
    trial: ({ dir, size, number }) =>
      trained('training_trl.py', [
        dir,
        String(steps[size]),
        String(learningRate),
        join(dir, `trl-${number}`),
        rows,
      ]),
  },
];

export const trainingComparisons: Scenario['comparisons'] = [
  {
    ...{ metric: 'tokens per CPU second', figure: 'rate', unit: 'tokens/s', better: 'more', peer: 'TRL' },
    goal: { times: 2.5 },
  },
  { metric: 'peak memory', figure: 'memory', unit: 'MiB', better: 'less', peer: 'TRL', goal: null },
];

/** Requires equal tokens and near losses in every step. */
export function checkSteps(answers: Readonly<Record<string, unknown>>): void {
  const [ours, theirs] = [answers.hone, answers.TRL] as [Step[], Step[]];
  for (const [index, step] of theirs.entries()) {
    const mine = ours[index];
    const near = mine !== undefined && Math.abs(mine.loss - step.loss) <= nearness * Math.abs(step.loss);
    if (!near || mine.tokens !== step.tokens) {
      throw new Error(
        `step ${index + 1} differs: ${JSON.stringify(mine)} here, ${JSON.stringify(step)} there`,
      );
    }
  }
}
