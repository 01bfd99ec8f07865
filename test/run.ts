/**
 * Runs the checks of `npm test`, `npm run check`, `npm run test:long` and `npm run test:real`: linters, the Node tests
 * (each file in its own process), and the trainer's tests, longest first. Arguments: patterns that a file's path must
 * contain. `--check`: only linters and tests that start no process. `--long`: the slow tests. `--real`: those with real
 * models; with both, all of them. `--workers N`: number of parallel processes. `--seed N`, `--count N`, `--processes`:
 * passed to tests as HONE_SEED, HONE_COUNT and HONE_PROCESSES.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join, relative, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { busyCores } from './busy-cores.ts';
import { type Counts, countPytest, countUvu } from './counts.ts';
import { balanced, type Durations, pytestDurations, readDurations, rememberDurations } from './durations.ts';
import { root, temporaryFolder } from './folders.ts';
import { makeModels } from './models.ts';
import { isUnit } from './unit-files.ts';
import { startWarmParent } from './warm-parent.ts';

interface Job {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The expected duration in seconds. */
  readonly seconds: number;
  readonly count: (output: string, exitCode: number) => Counts;
  /** The duration of each of its files, for a job that took `seconds`. */
  readonly durations: (output: string, seconds: number) => Durations;
}

const bin = join(root, 'trainer', '.venv', process.platform === 'win32' ? 'Scripts' : 'bin');
const python = join(bin, 'python');
const node = process.execPath;
/** Each process of the trainer's tests imports torch again, which takes ten seconds of CPU time. */
const trainerProcesses = 2;
/** Another process is started when this many cores were idle since the last check; starting one takes a second. */
const idleCores = 0.3;
const idleCheckMs = 2_000;
/** The peak memory of a test file: a service, a browser or a trainer. */
const workerBytes = 3 * 2 ** 30;

const { values, positionals: patterns } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    real: { type: 'boolean', default: false },
    workers: { type: 'string' },
    seed: { type: 'string' },
    count: { type: 'string' },
    processes: { type: 'boolean', default: false },
  },
});
const secondsOf = readDurations();

/**
 * The number of parallel processes. Tests often wait for a page, a timer or a process, so there are `fewest` at any time
 * and up to `most` while cores are idle.
 */
function processCounts(): { fewest: number; most: number } {
  if (values.workers !== undefined) return { fewest: Number(values.workers), most: Number(values.workers) };
  const [byCores, byMemory] = [availableParallelism(), Math.floor(totalmem() / workerBytes)];
  const within = (count: number) => Math.max(1, Math.min(Math.ceil(count), byMemory));
  return values.check
    ? { fewest: within(byCores), most: within(byCores) }
    : { fewest: within(byCores * 1.5), most: within(byCores * 3) };
}

function filesUnder(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

const isWanted = (name: string) =>
  patterns.length === 0 || patterns.some((pattern) => name.includes(pattern.split(sep).join('/')));

/** A linter counts as one test. */
const lint = (name: string, command: string, args: string[]): Job => ({
  name: `lint/${name}`,
  command,
  args,
  seconds: secondsOf(`lint/${name}`),
  count: (_output, exitCode) => ({ passed: exitCode === 0 ? 1 : 0, failed: exitCode === 0 ? 0 : 1 }),
  durations: (_output, seconds) => ({ [`lint/${name}`]: seconds }),
});

/** Validates the files in a folder with a schema that check-jsonschema includes. */
const githubSchema = (schema: string, folder: string) => [
  ...['-m', 'check_jsonschema', '--builtin-schema', `vendor.github-${schema}`],
  // The configuration of the issue page is not a form.
  ...filesUnder(folder, '.yml').filter((file) => !file.endsWith('/config.yml')),
];

function linters(): Job[] {
  const module = (...path: string[]) => join(root, 'node_modules', ...path);
  const cpp = filesUnder('native', '.cpp').concat(filesUnder('native', '.h'));
  return [
    lint('biome', node, [module('@biomejs', 'biome', 'bin', 'biome'), 'check']),
    lint('tsc', node, [module('typescript', 'bin', 'tsc'), '--noEmit', '-p', root]),
    lint('ruff', python, ['-m', 'ruff', 'check', 'trainer', 'python']),
    lint('ruff-format', python, ['-m', 'ruff', 'format', '--check', 'trainer', 'python']),
    lint('mypy', python, ['-m', 'mypy', '--config-file', 'trainer/pyproject.toml']),
    lint('clang-format', join(bin, 'clang-format'), ['--dry-run', '--Werror', ...cpp]),
    lint('workflows', python, githubSchema('workflows', '.github/workflows')),
    lint('issue-forms', python, githubSchema('issue-forms', '.github/ISSUE_TEMPLATE')),
  ].filter((job) => isWanted(job.name));
}

const nodeTest = (file: string, ...nodeArgs: string[]): Job => ({
  name: file,
  command: node,
  args: ['--import', 'tsx', ...nodeArgs, file],
  seconds: secondsOf(file),
  count: countUvu,
  durations: (_output, seconds) => ({ [file]: seconds }),
});

const nodeFiles = (ending: string) => filesUnder('test', ending).filter(isWanted);

function trainerTests(mark: 'long' | 'not long'): Job[] {
  const files = filesUnder('trainer/tests', '.py').filter((file) => /\/test_[^/]+$/.test(file));
  const groups = balanced(files.filter(isWanted), trainerProcesses, secondsOf);
  return groups.map((group) => ({
    name: group.join(' '),
    command: python,
    args: ['-m', 'pytest', '--durations=0', '--durations-min=0', '-m', mark, ...group],
    seconds: group.reduce((sum, file) => sum + secondsOf(file), 0),
    // A group may have no test with this mark; pytest then exits with code 5.
    count: (output, exitCode) => countPytest(output, exitCode === 5 ? 0 : exitCode),
    durations: mark === 'long' ? () => ({}) : pytestDurations,
  }));
}

const running = new Set<ReturnType<typeof spawn>>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    process.exit(1);
  });
}

const measured: Durations = {};
/** What long tests measured: their output lines `figure: …`. */
const figures: string[] = [];

/** Runs a job, prints its line, and its output if it failed. */
function run(job: Job): Promise<Counts> {
  const began = performance.now();
  return new Promise((resolve) => {
    const env = {
      ...process.env,
      ...warmParent,
      HONE_TEST_DRY_RUNS: dryRuns,
      // Two torch threads next to a busy process are many times slower than one.
      OMP_NUM_THREADS: process.env.OMP_NUM_THREADS ?? '1',
      ...(values.seed === undefined ? {} : { HONE_SEED: values.seed }),
      ...(values.count === undefined ? {} : { HONE_COUNT: values.count }),
      ...(values.processes ? { HONE_PROCESSES: '1' } : {}),
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
      const seconds = Math.round((performance.now() - began) / 100) / 10;
      const failed = counts.failed > 0;
      if (!failed) Object.assign(measured, job.durations(output, seconds));
      console.log(
        `${failed ? 'FAIL' : ' ok '} ${seconds.toFixed(1).padStart(6)} s  ${job.name}  ${counts.passed} passed, ${counts.failed} failed`,
      );
      if (failed) console.log(output.replace(/^/gm, '    '));
      for (const [, figure] of output.matchAll(/\bfigure: (.+)$/gm)) figures.push(`${job.name}: ${figure}`);
      resolve(counts);
    };
    child.on('error', (error) => finish(1, `${error.message}\n`));
    child.on('close', (code, signal) => finish(code ?? 1, signal === null ? '' : `ended by ${signal}\n`));
  });
}

function wantedJobs(): Job[] {
  if (values.real || values.long) {
    const files = [
      ...(values.real ? nodeFiles('.real.ts') : []),
      ...(values.long ? nodeFiles('.long.ts') : []),
    ];
    return [...files.map((file) => nodeTest(file)), ...(values.long ? trainerTests('long') : [])];
  }
  const files = nodeFiles('.test.ts');
  const units = files.filter((file) => isUnit(file));
  const unitTests = units.map((file) => nodeTest(file, '--import', './test/no-processes.mjs'));
  if (values.check) return [...linters(), ...unitTests];
  const others = files.filter((file) => !units.includes(file));
  return [...linters(), ...trainerTests('not long'), ...unitTests, ...others.map((file) => nodeTest(file))];
}

const began = performance.now();
// Made once here, so that test files that start at the same time do not each make them.
if (!values.check) makeModels();
const jobs = wantedJobs().sort((a, b) => b.seconds - a.seconds);
const startsServices = !values.check && jobs.some(({ name }) => name.startsWith('test/') && !isUnit(name));
const dryRuns = temporaryFolder();
const warmParent = startsServices ? startWarmParent() : {};
const failures: string[] = [];
const total = { passed: 0, failed: 0 };
const queue = jobs.values();
const { fewest, most } = processCounts();
const usedCores = busyCores();
await new Promise<void>((resolve) => {
  const startNext = () => {
    const { value: job } = queue.next();
    if (job === undefined) return;
    run(job).then((counts) => {
      total.passed += counts.passed;
      total.failed += counts.failed;
      if (counts.failed > 0) failures.push(job.name);
      if (running.size < fewest) startNext();
      if (running.size > 0) return;
      clearInterval(timer);
      resolve();
    });
  };
  const timer = setInterval(() => {
    const idle = availableParallelism() - usedCores();
    if (idle > idleCores && running.size < most) startNext();
  }, idleCheckMs);
  for (let count = 0; count < fewest; count += 1) startNext();
  if (running.size > 0) return;
  clearInterval(timer);
  resolve();
});
rememberDurations(measured);
if (jobs.length === 0) {
  console.log(`No test matches ${patterns.join(' ') || 'this'}.`);
  process.exitCode = 1;
}
for (const figure of figures) console.log(figure);
if (failures.length > 0) console.log(`Failed: ${failures.join(' ')}`);
console.log(
  `${Math.round((performance.now() - began) / 1000)} s with ${fewest === most ? most : `${fewest} to ${most}`} processes at a time`,
);
console.log(`${total.passed} passed, ${total.failed} failed`);
if (total.failed > 0) process.exitCode = 1;
