import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeInputs } from './harness/inputs.ts';
import { runMeasured } from './harness/measured.ts';
import { programs, python, pythonVersion, root } from './harness/places.ts';
import type { Scenario } from './harness/scenario.ts';

/*
 * From a trained adapter to a Q8_0 GGUF of the merged model: time, and the peak resident memory of the largest process.
 * The peer does what tutorials do: merge in memory, save, convert to F16, quantize. Ours also verifies the file, which
 * the peer does not, so verification is excluded: time ends when the journal reports the start of verification, and
 * memory is that of the exporting process.
 */

const env = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', PYTHONPATH: root };
const dist = (name: string) => join(root, 'dist', name);
const converter = join(root, 'build', 'llama.cpp');
const reader = join(programs, 'gguf_tensors.py');
/** The difference between the two files that 8-bit weights and one more rounding to bf16 may cause. */
const nearness = 0.02;

/** A job folder as it is after training. @returns its specification. */
function writeJob(dir: string, job: string): string {
  cpSync(join(dir, 'trained'), job, { recursive: true });
  const golden = JSON.parse(readFileSync(join(root, 'test', 'contract', 'spec.golden.json'), 'utf8'));
  const path = join(job, 'spec.json');
  const spec = {
    ...golden,
    job_dir: job,
    model: { name: 'bench/model', path: join(dir, 'base') },
    dataset: { name: 'dataset.jsonl', path: join(job, 'dataset.jsonl'), rows: 10 },
    export: { quantizations: ['Q8_0'] },
    tools: {
      quantize: [process.execPath, dist('quantize.js')],
      score: [process.execPath, dist('score.js')],
      converter,
    },
    tensorboard_dir: null,
  };
  writeFileSync(path, JSON.stringify(spec));
  return path;
}

export const scenario: Scenario = {
  name: 'export',
  about: 'from an adapter to a Q8_0 GGUF of the merged model',
  runs: { full: 2, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('export_inputs.py', [input.size], input),
  sides: [
    {
      name: 'hone',
      about: 'python -m trainer export, without verification',
      trial: async ({ dir, number }) => {
        const job = join(dir, `job-${number}`);
        const begun = Date.now();
        const { stdout } = await runMeasured(python, [join(programs, 'export_hone.py'), writeJob(dir, job)], {
          env,
        });
        const { peak_bytes } = JSON.parse(stdout.trimEnd().split('\n').at(-1) as string);
        const verifying = readFileSync(join(job, 'journal.jsonl'), 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line))
          .find(({ phase }) => phase === 'verify');
        const file = join(dir, 'ours.gguf');
        renameSync(join(job, 'artifacts', 'model-Q8_0.gguf'), file);
        rmSync(job, { recursive: true });
        return {
          figures: { memory: peak_bytes / 1e6, seconds: (Date.parse(verifying.time) - begun) / 1000 },
          answer: file,
        };
      },
    },
    {
      name: 'PEFT',
      about: async () =>
        `PEFT ${await pythonVersion('peft')}: merge_and_unload, save; convert_hf_to_gguf.py; llama_model_quantize`,
      trial: async ({ dir }) => {
        const merged = join(dir, 'merged');
        const wide = join(dir, 'theirs-f16.gguf');
        const file = join(dir, 'theirs.gguf');
        const adapter = join(dir, 'trained', 'artifacts', 'adapter');
        const steps = [
          await runMeasured(python, [join(programs, 'export_peft.py'), join(dir, 'base'), adapter, merged], {
            env,
          }),
          await runMeasured(
            python,
            [join(programs, 'export_convert.py'), converter, merged, '--outtype', 'f16', '--outfile', wide],
            { env },
          ),
          await runMeasured(process.execPath, [dist('quantize.js'), wide, file, 'Q8_0']),
        ];
        rmSync(merged, { recursive: true });
        rmSync(wide);
        return {
          figures: {
            memory: Math.max(...steps.map(({ peakBytes }) => peakBytes)) / 1e6,
            seconds: steps.reduce((sum, { wallSeconds }) => sum + wallSeconds, 0),
          },
          answer: file,
        };
      },
    },
  ],
  comparisons: [
    {
      ...{ metric: 'peak memory', figure: 'memory', unit: 'MB', better: 'less', peer: 'PEFT' },
      goal: { share: 1 / 5 },
    },
    {
      ...{ metric: 'time', figure: 'seconds', unit: 's', better: 'less', peer: 'PEFT' },
      goal: { share: 1 / 2 },
    },
  ],
  check: ({ hone, PEFT }) => {
    if (hone === undefined || PEFT === undefined) return;
    const args = [reader, join(converter, 'gguf-py'), 'distance', hone as string, PEFT as string];
    const { distance } = JSON.parse(execFileSync(python, args, { encoding: 'utf8' }));
    if (!(distance < nearness)) throw new Error(`the relative distance between the two files is ${distance}`);
  },
};
