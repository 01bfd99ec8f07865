import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runMeasured } from './measured.ts';
import { programs, python, pythonVersion, root } from './places.ts';
import type { Comparison, Goal, Scenario, Side, Size, Trial } from './scenario.ts';

/*
 * Supervised fine-tuning with LoRA on a CPU: real tokens (without padding) per second of the process's CPU time, from
 * the end of the second step to the end of the last. Both sides train the same rows in the same steps, and the losses
 * of every step must agree to 1 %.
 */

export interface Step {
  readonly loss: number;
  /** Of the rewards of preferred and rejected answers, where pairs are trained on. */
  readonly margin?: number;
  /** The norm of the gradient, where a policy is trained. Its entropy then is the loss, its reward the margin. */
  readonly gradient?: number;
  readonly tokens: number;
  /** What the steps so far needed at least; see operations.py. */
  readonly operations?: number;
  /** Bytes of the frozen weights in layers. */
  readonly weights?: number;
  readonly cpu_seconds: number;
}

const steps: Record<Size, number> = { full: 12, quick: 6, test: 4 };
/** Where many ways to train are measured. */
export const fewerSteps: Record<Size, number> = { ...steps, full: 8 };
export const learningRate = 1e-3;
/** Steps that are not measured: kernels are selected in the first ones. */
export const unmeasured = 2;
/** The largest relative difference between the losses of a step. */
export const nearness = 0.01;
/** The same for gradients, which one side computes from bfloat16 weights, the other from float32. */
const gradientNearness = 0.05;
/** A second thread would spin while it waits for other load on the machine, and that time is counted. */
const env = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', PYTHONPATH: root };

async function trained(program: string, args: readonly string[]): Promise<Trial> {
  const { stdout, peakBytes } = await runMeasured(python, [join(programs, program), ...args], { env });
  const told = JSON.parse(stdout.slice(stdout.trimEnd().lastIndexOf('\n') + 1)) as Step[];
  const begun = told[unmeasured - 1] as Step;
  const last = told.at(-1) as Step;
  const seconds = last.cpu_seconds - begun.cpu_seconds;
  return {
    figures: {
      rate: (last.tokens - begun.tokens) / seconds,
      memory: peakBytes / 2 ** 20,
      operations: ((last.operations ?? 0) - (begun.operations ?? 0)) / seconds / 1e9,
      weights: (last.weights ?? 0) / 2 ** 20,
    },
    answer: told,
  };
}

/** What the rows are, as a job names it. */
export type Rows = 'input-output' | 'messages' | 'preference' | 'prompt' | 'question-answer';

/**
 * What `training_inputs.py` makes: such rows and a Llama; for `summary` inputs and outputs, and a T5; for `judged`, `policy`
 * and groups preferences, and for `policy` a reward model, too; for `quantized` and `all-weights` inputs and outputs; for `question` questions
 * with their contexts and answers, and a BERT. What ends with `-float32` is the same for sides that compute in float32.
 */
export type Shape =
  | Exclude<Rows, 'prompt' | 'question-answer'>
  | 'summary'
  | 'judged'
  | 'preference-float32'
  | 'judged-float32'
  | 'policy-float32'
  | 'policy'
  | 'group'
  | 'group-64'
  | 'quantized'
  | 'all-weights'
  | 'question';

const rowsOf: Readonly<Record<Shape, Rows>> = {
  ...{ 'input-output': 'input-output', messages: 'messages', preference: 'preference' },
  ...{
    summary: 'input-output',
    judged: 'preference',
    'preference-float32': 'preference',
    'judged-float32': 'preference',
    'policy-float32': 'preference',
    policy: 'preference',
    group: 'prompt',
    'group-64': 'prompt',
    ...{ quantized: 'input-output', 'all-weights': 'input-output' },
    question: 'question-answer',
  },
};

/**
 * The job as the service would write it for a request with only the peer's settings. `changes` are settings, `top` other
 * fields.
 */
export function writeSpec(dir: string, job: string, size: Size, rows: Rows, changes = {}, top = {}): string {
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
    tools: { ...golden.tools, render: ['node', join(root, 'dist', 'compare-renderings.js')], bases: null },
    ...top,
  };
  writeFileSync(path, JSON.stringify(spec));
  return path;
}

/** A way to train, and the library's trainer class that does the same. */
export interface Family {
  /** The names of the sides. */
  readonly ours: string;
  readonly peer: string;
  readonly shape: Shape;
  /** The peer's program, and the package that has the trainer class. */
  readonly program: string;
  readonly library: string;
  /** Fields of the job other than settings. */
  readonly top: Readonly<Record<string, string>>;
  /** Settings of its own. */
  readonly changes?: Readonly<Record<string, unknown>>;
}

/** Both sides of a family in the scenario's folder `folder`, which has its model and rows; they train for `counts` steps. */
export const familySides = (
  { ours, peer, shape, program, library, top, changes: own }: Family,
  folder: string,
  counts: Readonly<Record<Size, number>> = steps,
): readonly [Side, Side] => [
  {
    name: ours,
    about: 'python -m trainer, with the same settings as the peer',
    trial: ({ dir, size, number }) => {
      const inputs = join(dir, folder);
      const judge = shape.startsWith('policy') ? { reward_model: join(inputs, 'judge') } : {};
      const exact = shape.endsWith('-float32') ? { bf16: false } : {};
      const changes = { max_steps: counts[size], ...exact, ...judge, ...own };
      // Otherwise a reward model is tested on some of the rows, which are then not trained on.
      const rows = { name: 'rows.jsonl', path: join(inputs, 'rows.jsonl'), rows: 0, shape: rowsOf[shape] };
      const fields = shape.startsWith('judged') ? { ...top, validation: rows } : top;
      const spec = writeSpec(inputs, join(dir, `${ours}-${number}`), size, rowsOf[shape], changes, fields);
      return trained('training_hone.py', [spec]);
    },
  },
  {
    name: peer,
    about: async () => `a plain script, ${library} ${await pythonVersion(library)}, its default settings`,
    trial: ({ dir, size, number }) =>
      trained(program, [
        join(dir, folder),
        String(counts[size]),
        String(learningRate),
        join(dir, `${peer}-${number}`),
        shape,
      ]),
  },
];

/** The sides of a scenario that trains `rows`, which `training_inputs.py` has made. */
export const trainingSides = (shape: 'input-output' | 'messages'): Scenario['sides'] => [
  ...familySides(
    { ours: 'hone', peer: 'TRL', shape, program: 'training_trl.py', library: 'trl', top: {} },
    '.',
  ),
  matrixSide,
];

/** Seconds of each precision, and the tokens and sizes of the models that `training_inputs.py` makes. */
const products: Record<Size, readonly number[]> = {
  full: [2, 1024, 512, 1408, 16_000],
  quick: [1, 1024, 256, 704, 8000],
  test: [0.05, 256, 64, 128, 600],
};

/** How fast the machine multiplies matrices of the model's shapes. */
export const matrixSide: Side = {
  name: 'matrix product',
  about: "torch's products of matrices of the model's shapes, in bfloat16 and float32, on one thread",
  trial: async ({ size }) => {
    const args = products[size].map(String);
    const { stdout } = await runMeasured(python, [join(programs, 'matrix_product.py'), ...args], { env });
    const { bfloat16, float32 } = JSON.parse(stdout);
    return { figures: { operations: bfloat16, float32 }, answer: null };
  },
};

/** How much of that a side reaches, by the operations that its steps need at least. */
export const shareOfProduct = (ours: string, goal: Goal | null = null): Comparison => ({
  ...{ ours, peer: matrixSide.name, metric: `${ours}: operations, of those of bfloat16 products` },
  ...{ figure: 'operations', unit: 'GFLOP/s', better: 'more', goal },
});

/** What is compared of `trainingSides`: tokens, memory and operations. */
export const trainingComparisons = (goals: {
  readonly rate: Goal;
  readonly memory: Goal;
  readonly operations: Goal | null;
}): Scenario['comparisons'] => [
  {
    ...{ metric: 'tokens per CPU second', figure: 'rate', unit: 'tokens/s', better: 'more', peer: 'TRL' },
    goal: goals.rate,
  },
  {
    ...{ metric: 'peak memory', figure: 'memory', unit: 'MiB', better: 'less', peer: 'TRL' },
    goal: goals.memory,
  },
  shareOfProduct('hone', goals.operations),
];

/** Requires equal tokens and near losses in every step. */
export function checkSteps(answers: Readonly<Record<string, unknown>>): void {
  compareSteps(answers.hone as Step[], answers.TRL as Step[]);
}

/**
 * @throws unless every step has equal tokens, near losses and, of pairs, near margins.
 * @param near the largest relative difference of losses.
 */
export function compareSteps(ours: readonly Step[], theirs: readonly Step[], near = nearness): void {
  for (const [index, step] of theirs.entries()) {
    const mine = ours[index];
    if (mine === undefined || !(distance(mine, step) <= near) || mine.tokens !== step.tokens) {
      throw new Error(
        `step ${index + 1} differs: ${JSON.stringify(mine)} here, ${JSON.stringify(step)} there`,
      );
    }
  }
}

/** The largest relative difference of two steps. What gradients differ by counts as a share of what they may. */
function distance(mine: Step, step: Step): number {
  const { margin = 0, gradient = 0 } = step;
  // The first margins are about 0, where a share says nothing: there the loss of a pair changes by half of its margin.
  const least = step.gradient === undefined ? 2 * Math.abs(step.loss) : 1;
  return Math.max(
    Math.abs(mine.loss - step.loss) / Math.abs(step.loss),
    Math.abs((mine.margin ?? 0) - margin) / Math.max(least, Math.abs(margin)),
    (Math.abs((mine.gradient ?? 0) - gradient) / (gradient || 1)) * (nearness / gradientNearness),
  );
}
