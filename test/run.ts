/**
 * Runs everything that `npm test` checks: linters, the Node tests, each file in its own process, and the
 * trainer's tests. Two at a time at most. Arguments: patterns that a file's path must contain; `--long` for
 * the tests that take longer, with `--seed N` and `--count N`, which they find in HONE_SEED and HONE_COUNT.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Counts, countPytest, countUvu } from './counts.ts';

interface Job {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly count: (output: string, exitCode: number) => Counts;
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'trainer', '.venv', process.platform === 'win32' ? 'Scripts' : 'bin');
const python = join(bin, 'python');
const node = process.execPath;
const trainerProcesses = 4;

const { values, positionals: patterns } = parseArgs({
  allowPositionals: true,
  options: { long: { type: 'boolean', default: false }, seed: { type: 'string' }, count: { type: 'string' } },
});

function filesUnder(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

const wanted = (name: string) =>
  patterns.length === 0 || patterns.some((pattern) => name.includes(pattern.split(sep).join('/')));

/** A linter is one test: it passes or fails. */
const lint = (name: string, command: string, args: string[]): Job => ({
  name: `lint/${name}`,
  command,
  args,
  count: (_output, exitCode) => ({ passed: exitCode === 0 ? 1 : 0, failed: exitCode === 0 ? 0 : 1 }),
});

function linters(): Job[] {
  const module = (...path: string[]) => join(root, 'node_modules', ...path);
  const cpp = filesUnder('native', '.cpp').concat(filesUnder('native', '.h'));
  return [
    lint('biome', node, [module('@biomejs', 'biome', 'bin', 'biome'), 'check']),
    lint('tsc', node, [module('typescript', 'bin', 'tsc'), '--noEmit', '-p', root]),
    lint('ruff', python, ['-m', 'ruff', 'check', 'trainer']),
    lint('ruff-format', python, ['-m', 'ruff', 'format', '--check', 'trainer']),
    lint('clang-format', join(bin, 'clang-format'), ['--dry-run', '--Werror', ...cpp]),
  ];
}

function nodeTests(ending: string): Job[] {
  return filesUnder('test', ending).map((file) => ({
    name: file,
    command: node,
    args: ['--import', 'tsx', file],
    count: countUvu,
  }));
}

/**
 * The trainer's tests in a few processes: each new one imports torch again, and with a single one the other
 * half of the machine would wait for it at the end.
 */
function trainerTests(): Job[] {
  const files = filesUnder('trainer/tests', '.py').filter(
    (file) => /\/test_[^/]+$/.test(file) && wanted(file),
  );
  const size = Math.max(1, Math.ceil(files.length / trainerProcesses));
  const groups = Array.from({ length: Math.ceil(files.length / size) }, (_, i) =>
    files.slice(i * size, (i + 1) * size),
  );
  return groups.map((group) => ({
    name: group.join(' '),
    command: python,
    args: ['-m', 'pytest', ...group],
    count: countPytest,
  }));
}

/** Runs a job, prints its line, and its output if it failed. */
function run(job: Job): Promise<Counts> {
  const began = performance.now();
  return new Promise((resolve) => {
    const env = {
      ...process.env,
      // Two threads of torch beside a busy neighbour are many times slower than one.
      OMP_NUM_THREADS: process.env.OMP_NUM_THREADS ?? '1',
      ...(values.seed === undefined ? {} : { HONE_SEED: values.seed }),
      ...(values.count === undefined ? {} : { HONE_COUNT: values.count }),
    };
    const child = spawn(job.command, job.args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    const finish = (exitCode: number, trouble: string) => {
      running.delete(child);
      const output = Buffer.concat(chunks).toString('utf8') + trouble;
      const counts = job.count(output, exitCode);
      const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(6);
      const failed = counts.failed > 0;
      console.log(
        `${failed ? 'FAIL' : ' ok '} ${seconds} s  ${job.name}  ${counts.passed} passed, ${counts.failed} failed`,
      );
      if (failed) console.log(output.replace(/^/gm, '    '));
      resolve(counts);
    };
    child.on('error', (error) => finish(1, `${error.message}\n`));
    child.on('close', (code, signal) => finish(code ?? 1, signal === null ? '' : `ended by ${signal}\n`));
  });
}

const running = new Set<ReturnType<typeof spawn>>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    process.exit(1);
  });
}

const jobs = values.long
  ? nodeTests('.long.ts').filter((job) => wanted(job.name))
  : [
      ...linters().filter((job) => wanted(job.name)),
      ...trainerTests(),
      ...nodeTests('.test.ts').filter((job) => wanted(job.name)),
    ];

const total = { passed: 0, failed: 0 };
const queue = jobs.values();
const worker = async () => {
  for (const job of queue) {
    const counts = await run(job);
    total.passed += counts.passed;
    total.failed += counts.failed;
  }
};
await Promise.all(Array.from({ length: Math.min(2, cpus().length) }, worker));
if (jobs.length === 0) {
  console.log(`No test matches ${patterns.join(' ') || 'this'}.`);
  process.exitCode = 1;
}
console.log(`${total.passed} passed, ${total.failed} failed`);
if (total.failed > 0) process.exitCode = 1;
