/**
 * Plants random one-token faults in the service and the trainer, HONE_COUNT in all, and lists those that no test notices.
 * `--processes` (HONE_PROCESSES) also runs tests that start processes.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { seed } from '../random.ts';
import type { Outcome } from './outcome.ts';
import { serviceMutants } from './service-mutants.ts';
import { prepare, python, pythonTools, tree } from './workplace.ts';

const count = Number(process.env.HONE_COUNT ?? 20);
const processes = process.env.HONE_PROCESSES !== undefined;

/** The same in the trainer. */
function trainerMutants(seed: number, count: number): Promise<Outcome[]> {
  const program = join(tree, 'test', 'mutants', 'trainer_mutants.py');
  const args = [program, String(seed), String(count), ...(processes ? ['--processes'] : [])];
  const env = {
    ...process.env,
    OMP_NUM_THREADS: '1',
    PYTHONPATH: pythonTools,
    // A file with a fault may be as long and as old as without.
    PYTHONDONTWRITEBYTECODE: '1',
  };
  return new Promise((resolve, reject) => {
    const child = spawn(python, args, { cwd: tree, env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code !== 0) reject(new Error(`trainer_mutants.py ended with ${code}`));
      else
        resolve(
          output
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as Outcome),
        );
    });
  });
}

const roomOf = ({ file }: Outcome) => file.split('/').slice(0, 2).join('/');

/** A line for each room and each fault that was not noticed. */
function tell(outcomes: readonly Outcome[]): void {
  const share = (some: readonly Outcome[], all: readonly Outcome[]) =>
    `${some.length} (${Math.round((100 * some.length) / all.length)} %)`;
  const line = (name: string, of: readonly Outcome[]) => {
    const byUnit = of.filter((one) => one.byUnit !== null);
    const noticed = of.filter((one) => (one.byUnit ?? one.byProcess) !== null);
    const all = processes ? `, by any ${share(noticed, of)}` : '';
    console.log(
      `figure: ${name}: ${of.length} faults, noticed by tests that start no process ${share(byUnit, of)}${all}`,
    );
  };
  for (const room of [...new Set(outcomes.map(roomOf))].sort()) {
    const inside = outcomes.filter((one) => roomOf(one) === room);
    line(room, inside);
    for (const { file, line, fault, byUnit, byProcess } of inside) {
      if ((byUnit ?? byProcess) === null) console.log(`figure:   ${file}:${line}  ${fault}`);
    }
  }
  for (const language of ['src/', 'trainer/', '']) {
    const inside = outcomes.filter(({ file }) => file.startsWith(language));
    if (inside.length > 0) line(language || 'all', inside);
  }
}

test(`faults are noticed (seed ${seed})`, async () => {
  await prepare();
  const half = Math.ceil(count / 2);
  // What one half has found is told even if the other fails.
  const halves = await Promise.allSettled([
    serviceMutants(seed, half, processes),
    trainerMutants(seed, count - half),
  ]);
  const outcomes = halves.flatMap((found) => (found.status === 'fulfilled' ? found.value : []));
  tell(outcomes);
  for (const found of halves) if (found.status === 'rejected') throw found.reason;
  assert.is(outcomes.length, count);
});

test.run();
