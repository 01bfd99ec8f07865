import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { makeInputs } from './harness/inputs.ts';
import { runMeasured } from './harness/measured.ts';
import { missingPython, programs, python, pythonVersion, root } from './harness/places.ts';
import type { Scenario, Size, TrialInput } from './harness/scenario.ts';
import { summarize } from './harness/statistics.ts';
import { writeSpec } from './harness/training.ts';

/*
 * Two workers on a cluster of this machine whose head runs: the time from the start of the trainer to its first step, at
 * a model whose steps take no time. The peer is the trainer that starts its two workers itself, cold, as the cluster's
 * driver is. Both must have the same losses, but for rounding. Apart from that, what two workers agree on in a step, without
 * the step and its gradients.
 */

const run = promisify(execFile);
const changes = { workers: 2, per_device_train_batch_size: 4, gradient_accumulation_steps: 2 };
const agreements: Record<Size, number> = { full: 1000, quick: 300, test: 20 };
const pollMs = 10;
/** How far the losses may be apart, relative to them: the order of a sum depends on the number of threads. */
const nearness = 1e-6;

/** The seconds from the start of the job's trainer to its first step, and the losses of all steps. */
async function train({ dir }: TrialInput, name: string, env: NodeJS.ProcessEnv) {
  const job = join(dir, name);
  const spec = writeSpec(dir, job, 'test', 'input-output', changes);
  const begun = performance.now();
  const trainer = spawn(python, ['-m', 'trainer', 'run', spec], {
    cwd: job,
    env: { ...process.env, HF_HUB_OFFLINE: '1', PYTHONPATH: root, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  trainer.stderr.on('data', (chunk) => {
    log += chunk;
  });
  const ended = once(trainer, 'close');
  const metrics = () => {
    try {
      const lines = readFileSync(join(job, 'journal.jsonl'), 'utf8').trim().split('\n');
      return lines.filter((line) => line.includes('"type":"metric"')).map((line) => JSON.parse(line));
    } catch {
      return []; // not there yet
    }
  };
  while (metrics().length === 0 && trainer.exitCode === null) await sleep(pollMs);
  const seconds = (performance.now() - begun) / 1000;
  const [code] = await ended;
  if (code !== 0) throw new Error(`The trainer ended with ${code}:\n${log.slice(-4000)}`);
  return { seconds, losses: metrics().map(({ loss }) => loss as number) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function onCluster(input: TrialInput) {
  const dataDir = join(input.dir, `cluster-${input.number}`);
  const port = await freePort();
  const hone = (...args: string[]) =>
    run(process.execPath, [join(root, 'dist', 'main.js'), 'cluster', ...args], {
      env: { ...process.env, SERVICE_DATA_DIR: dataDir },
    });
  await hone('start', '--port', String(port));
  try {
    const env = {
      HONE_CLUSTER: `127.0.0.1:${port}`,
      HONE_CLUSTER_FILE: join(dataDir, 'cluster', 'token'),
    };
    // Waits until the node has imported the libraries.
    await train(input, `first-${input.number}`, env);
    return await train(input, `second-${input.number}`, env);
  } finally {
    await hone('stop');
  }
}

function checkLosses(answers: Readonly<Record<string, unknown>>): void {
  const [[, ours] = ['', []], ...others] = Object.entries(answers as Readonly<Record<string, number[]>>);
  for (const [name, losses] of others) {
    const isNear = (loss: number, at: number) =>
      Math.abs(loss - (ours[at] ?? Number.NaN)) <= nearness * Math.abs(loss);
    if (losses.length !== ours.length || !losses.every(isNear))
      throw new Error(`The losses of ${name} are ${losses}, those of the cluster ${ours}.`);
  }
}

export const scenario: Scenario = {
  name: 'cluster',
  about: 'from the start of a run with two workers to its first step, on a cluster whose head runs',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('training_inputs.py', ['test', 'input-output'], input),
  check: checkLosses,
  sides: [
    {
      name: 'cluster',
      about: async () => `python -m trainer on a cluster of this machine, Ray ${await pythonVersion('ray')}`,
      missing: () => missingPython('ray'),
      async trial(input) {
        const { seconds, losses } = await onCluster(input);
        const { stdout } = await runMeasured(
          python,
          [join(programs, 'agreement.py'), String(agreements[input.size])],
          { env: { PYTHONPATH: root } },
        );
        return { figures: { seconds, agreement: summarize(JSON.parse(stdout)).median }, answer: losses };
      },
    },
    {
      name: 'local workers',
      about: 'python -m trainer, which starts its workers itself',
      async trial(input) {
        const { seconds, losses } = await train(input, `local-${input.number}`, { OMP_NUM_THREADS: '2' });
        return { figures: { seconds }, answer: losses };
      },
    },
  ],
  comparisons: [
    {
      ...{ metric: 'time to the first step', figure: 'seconds', unit: 's', better: 'less', peer: null },
      goal: { atMost: 12 },
    },
    {
      ...{ metric: 'time to the first step', figure: 'seconds', unit: 's', better: 'less' },
      ...{ peer: 'local workers', goal: null },
    },
    {
      ...{ metric: 'agreement of a step', figure: 'agreement', unit: 'ms', better: 'less', peer: null },
      goal: { atMost: 3 },
    },
  ],
};
