import { join } from 'node:path';
import { makeInputs } from './harness/inputs.ts';
import { runMeasured } from './harness/measured.ts';
import { programs, python, root } from './harness/places.ts';
import type { Scenario, Side } from './harness/scenario.ts';
import { writeSpec } from './harness/training.ts';

/*
 * What a run spends on making sure that its model can be used. CPU seconds count child processes.
 *
 * - The dry run of the export of a model of the shape of Qwen3-0.6B: in a process of its own, imports included, as when the
 *   service has no warm trainer; as the fork of a warm trainer, which the service keeps on Linux without a GPU; and for another run, which finds what
 *   the one before has learned.
 * - In a run of one epoch of a model of the shape of SmolLM2-135M:
 *   - Rendering all rows in Node, too, of the run until its export.
 *   - The answers in evaluations, of the steps. All evaluations must score the same rows, which the journal tells the
 *     number of. The training is just long enough that a tenth of it suffices for the fewest rows that are scored.
 *   - Verifying the Q8_0 file, with the record of the trained model's answers, of a run of ten minutes: its CPU seconds as
 *     if one after the other on one core, so that it delays the run by no more. The work depends on the model, the rows that
 *     are recorded and the texts that are compared, but not on how long a training is.
 *
 * At the quick size the latter model has a fifth of its layers.
 */

const env = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', TQDM_DISABLE: '1', PYTHONPATH: root };
const dist = (name: string) => [process.execPath, join(root, 'dist', name)];
const tools = {
  quantize: dist('quantize.js'),
  score: dist('score.js'),
  render: dist('compare-renderings.js'),
  converter: join(root, 'build', 'llama.cpp'),
};
const tenMinutes = 600;
/** Validation rows that are scored at least. */
const leastRows = 16;

interface Tried {
  readonly wall: number;
  readonly cpu: number;
  /** Lines of the journal about it. */
  readonly phases: number;
  readonly difference: number | null;
}

interface Checked {
  readonly run: number;
  readonly steps: number;
  readonly rendering: number;
  readonly answers: number;
  readonly verification: number;
  readonly asked: readonly (readonly string[])[];
  readonly told: readonly number[];
  readonly verified: readonly ({ readonly verified?: unknown } | null)[];
}

async function said<T>(program: string, spec: string): Promise<T> {
  const { stdout } = await runMeasured(python, [join(programs, program), spec], { env });
  return JSON.parse(stdout.slice(stdout.trimEnd().lastIndexOf('\n') + 1)) as T;
}

const trial: Side['trial'] = async ({ dir, size, number }) => {
  const specOf = (model: string, changes: object, top: object) =>
    writeSpec(dir, join(dir, `${model}-${number}`), size, 'input-output', changes, {
      model: { name: `bench/${model}`, path: join(dir, model) },
      tools: { ...tools, bases: join(dir, `bases-${number}`) },
      ...top,
    });
  const files = { export: { quantizations: ['Q8_0'], required: true } };
  const [alone, warm, known] = await said<[Tried, Tried, Tried]>('dry_run.py', specOf('tried', {}, files));
  if ([alone, warm].some((one) => one.phases === 0 || one.difference === null) || known.phases !== 0)
    throw new Error(`The dry run was not one: ${JSON.stringify([alone, warm, known])}`);
  const epoch = { num_train_epochs: 1, max_steps: -1, eval_split: 0.2 };
  const top = { task: 'summarization', ...files };
  const trained = await said<Checked>('checks.py', specOf('trained', epoch, top));
  const [ofBase = [], ...ofTuned] = trained.asked;
  const scored = new Set(ofBase).size;
  if (ofTuned.length === 0 || ofTuned.some((rows) => rows.join('\n') !== ofBase.join('\n')))
    throw new Error('The base model and the tuned one did not answer the same rows.');
  if (trained.told.length !== 1 || trained.told[0] !== ofBase.length)
    throw new Error(`${ofBase.length} rows were scored, and the journal tells of ${trained.told.join()}`);
  if (trained.verification === 0 || !trained.verified[0]) throw new Error('Nothing was verified.');
  return {
    figures: {
      wall: warm.wall,
      cpu: warm.cpu,
      alone: alone.wall,
      known: known.wall,
      rendering: (100 * trained.rendering) / trained.run,
      answers: (100 * trained.answers) / trained.steps,
      rows: scored,
      verification: (100 * trained.verification) / tenMinutes,
    },
    answer: null,
  };
};

const own = { better: 'less', peer: null } as const;

export const scenario: Scenario = {
  name: 'checks',
  about: 'what a run spends on its checks: dry run of the export, renderings, evaluations, verification',
  runs: { full: 2, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('checks_inputs.py', [input.size], input),
  sides: [{ name: 'hone', about: 'parts of python -m trainer', trial }],
  comparisons: [
    { ...own, metric: 'dry run of a 0.6B base', figure: 'wall', unit: 's', goal: { atMost: 10 } },
    { ...own, metric: 'CPU time of that', figure: 'cpu', unit: 's', goal: null },
    { ...own, metric: 'dry run, nothing warm', figure: 'alone', unit: 's', goal: null },
    { ...own, metric: 'dry run, known', figure: 'known', unit: 's', goal: { atMost: 1 } },
    { ...own, metric: 'renderings, of a run', figure: 'rendering', unit: '%', goal: { atMost: 3 } },
    { ...own, metric: 'answers, of the steps', figure: 'answers', unit: '%', goal: { atMost: 10 } },
    {
      ...{ metric: 'rows that are answered', figure: 'rows', unit: 'rows', better: 'more', peer: null },
      goal: { atLeast: leastRows },
    },
    { ...own, metric: 'verification, of 10 min', figure: 'verification', unit: '%', goal: { atMost: 5 } },
  ],
};
