import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeInputs } from './harness/inputs.ts';
import { runMeasured } from './harness/measured.ts';
import { programs, python, root } from './harness/places.ts';
import type { Scenario, Side, TrialInput } from './harness/scenario.ts';
import { unmeasured, writeSpec } from './harness/training.ts';

/*
 * Two workers on two cores and one process on one of them, each bound to its cores: the same steps, with real tokens
 * (without padding) per second of wall time from the end of the second step to the end of the last. The losses of every
 * step must agree: the gradients are added in another order, and nothing else differs.
 *
 * Two processes side by side, each bound to a core and with the whole job for itself, share nothing but the machine:
 * caches, memory and power. What they make together is what two workers could at most.
 *
 * The cost of ranks is that of one rank in the local engine, which meets, agrees and synchronizes as several do,
 * compared with the process without an engine. Both run in the same trial on the same core, because the difference is
 * smaller than what separates runs that are further apart; in the order A B B A, so that a machine that becomes slower
 * or faster meanwhile counts for both.
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

/** How a side trains. */
interface Way {
  readonly name: string;
  readonly workers: number;
  /** The arguments of Python before the specification. */
  readonly program: readonly string[];
}

const trainer = ['-m', 'trainer', 'run'];
const two: Way = { name: 'two', workers: 2, program: trainer };
const one: Way = { name: 'one', workers: 1, program: trainer };
const oneRank: Way = { name: 'one-rank', workers: 1, program: [join(programs, 'one_rank.py')] };

async function trained({ name, workers, program }: Way, { dir, size, number }: TrialInput, first = 0) {
  const job = join(dir, `${name}-${number}`);
  const changes = { workers, per_device_train_batch_size: 4, gradient_accumulation_steps: 2 };
  const spec = writeSpec(dir, job, size, 'input-output', changes);
  const bound = [
    '-c',
    cores()
      .slice(first, first + workers)
      .join(),
    python,
    ...program,
    spec,
  ];
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

const side = (name: string, about: string, way: Way): Side => ({
  name,
  about,
  missing,
  trial: (input) => trained(way, input),
});

async function trainSideBySide(input: TrialInput) {
  const both = await Promise.all(
    [0, 1].map((core) => trained({ ...one, name: `core-${core}` }, input, core)),
  );
  const rate = both.reduce((sum, { figures }) => sum + figures.rate, 0);
  return { figures: { rate }, answer: both[0]?.answer };
}

async function compareOneRank(input: TrialInput) {
  /** The time of a token. */
  const time = { one: 0, 'one-rank': 0 };
  let answer: unknown;
  const order = [one, oneRank, oneRank, one].slice(0, input.size === 'test' ? 2 : 4);
  for (const [turn, way] of order.entries()) {
    const run = await trained({ ...way, name: `turn-${turn}` }, input);
    time[way.name as keyof typeof time] += 1 / run.figures.rate;
    if (way === oneRank) answer = run.answer;
  }
  return { figures: { share: (100 * time['one-rank']) / time.one }, answer };
}

export const scenario: Scenario = {
  name: 'workers',
  about: 'real tokens per second of wall time with two workers on two cores, at equal losses',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('training_inputs.py', [input.size, 'input-output'], input),
  sides: [
    side('two workers', 'python -m trainer, workers 2, on two cores', two),
    side('one process', 'python -m trainer, workers 1, on one core', one),
    {
      name: 'two processes',
      about: 'python -m trainer, workers 1, twice at once, on a core each',
      missing,
      trial: trainSideBySide,
    },
    {
      name: 'one rank',
      about: 'one rank in the local engine, and one process, in turn on one core',
      missing,
      trial: compareOneRank,
    },
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
    {
      ...{ metric: 'tokens per second', figure: 'rate', unit: 'tokens/s', better: 'more', goal: null },
      peer: 'two processes',
    },
    {
      ...{ ours: 'two processes', metric: 'tokens per second, side by side', figure: 'rate', goal: null },
      ...{ unit: 'tokens/s', better: 'more', peer: 'one process' },
    },
    {
      ...{ ours: 'one rank', metric: 'time of one rank, of that without ranks', figure: 'share' },
      ...{ unit: '%', better: 'less', peer: null, goal: { atMost: 103 } },
    },
  ],
  check(answers) {
    const steps = answers['one process'] as Step[];
    for (const [name, others] of Object.entries(answers) as [string, Step[]][]) {
      for (const [index, step] of steps.entries()) {
        const other = others[index];
        const near =
          other !== undefined && Math.abs(other.loss - step.loss) <= nearness * Math.abs(step.loss);
        if (!near || other.tokens !== step.tokens)
          throw new Error(
            `${name}: step ${index + 1} is ${JSON.stringify(other)}, not ${JSON.stringify(step)}`,
          );
      }
    }
  },
};
