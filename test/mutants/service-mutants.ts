import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readDurations } from '../durations.ts';
import { root } from '../folders.ts';
import { randomFrom } from '../random.ts';
import { isUnit } from '../unit-files.ts';
import type { Outcome } from './outcome.ts';
import { nodeTools, tree } from './workplace.ts';

const rooms = ['contract', 'domain', 'db', 'http', 'trainer', 'api'];
/** Not one token, or words for people. */
const excludedMutations = [
  'ArrayDeclaration',
  'ArrowFunction',
  'BlockStatement',
  'ObjectLiteral',
  'StringLiteral',
];
/** What the tests that start processes may take for one fault. */
const mostProcessSeconds = 240;
/** An endless loop ends after this many times what the test takes without a fault, and this long. */
const patience = { times: 4, ms: 30_000 };

interface Fault {
  readonly id: string;
  readonly fileName: string;
  readonly location: { readonly start: { readonly line: number } };
  readonly mutatorName: string;
  readonly replacement: string;
}

interface Source {
  readonly name: string;
  readonly content: string;
  readonly mutate: boolean;
}

const ignore = () => {};
/** What the instrumenter asks of a log. */
const silent = {
  ...{ trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore },
  isDebugEnabled: () => false,
};

const filesUnder = (folder: string, ending: string) =>
  readdirSync(join(tree, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(tree, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();

interface UnitTest {
  readonly file: string;
  readonly ms: number;
  readonly reached: ReadonlySet<string>;
}

/** Puts all faults into the copy's sources, each behind a switch in the environment. */
async function plant(): Promise<Fault[]> {
  const files = rooms.flatMap((room) => filesUnder(`src/${room}`, '.ts'));
  const sources = files.map((name) => ({
    name,
    content: readFileSync(join(tree, name), 'utf8'),
    mutate: true,
  }));
  const main = join(nodeTools, '@stryker-mutator', 'instrumenter', 'dist', 'src', 'index.js');
  const { Instrumenter } = await import(pathToFileURL(main).href);
  const options = { plugins: null, ignorers: [], excludedMutations };
  const made: { files: Source[]; mutants: Fault[] } = await new Instrumenter(silent).instrument(
    sources,
    options,
  );
  for (const { name, content } of made.files) writeFileSync(join(tree, name), content);
  return made.mutants.filter((mutant) => !('status' in mutant) || mutant.status !== 'Ignored');
}

/** Bundles the service with the faults, for the tests that start it. */
async function build(): Promise<void> {
  const { bundles } = await import(pathToFileURL(join(tree, 'setup', 'steps', 'bundles.mjs')).href);
  await bundles.run({ update() {} });
}

/** One random fault of each of `count` random tokens. */
function sample(faults: readonly Fault[], seed: number, count: number): Fault[] {
  const random = randomFrom(seed);
  const tokens = new Map<string, Fault[]>();
  for (const fault of faults) {
    const key = `${fault.fileName} ${JSON.stringify(fault.location)}`;
    tokens.set(key, [...(tokens.get(key) ?? []), fault]);
  }
  const left = [...tokens.values()];
  const chosen: Fault[] = [];
  while (chosen.length < count && left.length > 0) {
    const [token = []] = left.splice(Math.floor(random() * left.length), 1);
    chosen.push(token[Math.floor(random() * token.length)] as Fault);
  }
  return chosen;
}

/** Runs a test file in the copy. @returns whether it passed, and how long it took. */
function runTest(
  file: string,
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<{ passed: boolean; ms: number }> {
  const args = ['--import', 'tsx', '--import', './test/mutants/covered.mjs'];
  if (isUnit(file)) args.push('--import', './test/no-processes.mjs');
  const began = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...args, file], {
      cwd: tree,
      env: { ...process.env, ...env },
      stdio: 'ignore',
      detached: true,
    });
    const late = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), limitMs);
    child.on('close', (code) => {
      clearTimeout(late);
      resolve({ passed: code === 0, ms: performance.now() - began });
    });
  });
}

/** Runs each test that starts no process without a fault, to find out which faults it reaches. */
async function unitTests(): Promise<UnitTest[]> {
  const tests: UnitTest[] = [];
  for (const file of filesUnder('test', '.test.ts').filter((name) => isUnit(name))) {
    const covered = join(tree, 'service-covered.json');
    rmSync(covered, { force: true });
    const { passed, ms } = await runTest(file, { HONE_COVERED: covered }, 120_000);
    // Those that read the sources fail, because the faults are in them.
    const reached: string[] = passed && existsSync(covered) ? JSON.parse(readFileSync(covered, 'utf8')) : [];
    if (reached.length > 0) tests.push({ file, ms, reached: new Set(reached) });
  }
  return tests.sort((a, b) => a.ms - b.ms);
}

const wordsOf = (path: string) =>
  new Set(
    path
      .replace(/^(src|test)/, '')
      .replace(/(\.test)?\.ts$/, '')
      .split(/[/-]/)
      .map((word) => word.replace(/s$/, ''))
      .filter((word) => word.length > 2),
  );

/** Tests that start processes and share words with a file's path: most words first, then the shortest. */
function relatedTests(source: string): string[] {
  const words = wordsOf(source);
  const secondsOf = readDurations();
  const common = (file: string) => [...wordsOf(file)].filter((word) => words.has(word)).length;
  let left = mostProcessSeconds;
  return filesUnder('test', '.test.ts')
    .filter((file) => !isUnit(file) && common(file) > 0)
    .sort((a, b) => common(b) - common(a) || secondsOf(a) - secondsOf(b))
    .filter((file) => {
      left -= secondsOf(file);
      return left > 0;
    });
}

/** The first of some tests that fails with a fault. */
async function firstFailure(
  fault: Fault,
  tests: readonly { file: string; ms: number }[],
): Promise<string | null> {
  for (const { file, ms } of tests) {
    const limitMs = patience.times * ms + patience.ms;
    const { passed } = await runTest(file, { __STRYKER_ACTIVE_MUTANT__: fault.id }, limitMs);
    if (!passed) return file;
  }
  return null;
}

/**
 * Plants random faults in the service, one after the other, and runs the tests that reach them.
 * @param processes whether what no other test notices is tried with related tests that start processes.
 */
export async function serviceMutants(seed: number, count: number, processes: boolean): Promise<Outcome[]> {
  const original = (file: string, line: number) =>
    readFileSync(join(root, file), 'utf8').split('\n')[line - 1]?.trim();
  const faults = await plant();
  const chosen = sample(faults, seed, count);
  const tests = await unitTests();
  if (processes) await build();
  const outcomes: Outcome[] = [];
  for (const fault of chosen) {
    const line = fault.location.start.line + 1;
    const reaching = tests.filter(({ reached }) => reached.has(fault.id));
    const byUnit = await firstFailure(fault, reaching);
    const related = byUnit === null && processes ? relatedTests(fault.fileName) : [];
    const byProcess = await firstFailure(
      fault,
      related.map((file) => ({ file, ms: 60_000 })),
    );
    const what = `${original(fault.fileName, line)}  ->  ${fault.replacement}`;
    outcomes.push({ file: fault.fileName, line, fault: what, byUnit, byProcess });
    console.error(
      `${outcomes.length} of ${count}: ${fault.fileName}:${line} ${byUnit ?? byProcess ?? 'survived'}`,
    );
  }
  return outcomes;
}
