import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { examine } from './doctor.ts';

/** The runs that are described, newest first. */
const newestRuns = 5;
const leftOut = '(left out)';
/** Variables that change what Hone does; their values are not told. */
const ownVariables = /^(HONE|SERVICE|HF|HUB|CUDA|OMP|TORCH|PYTORCH|RAY)_/;
const runName = /^[\w-]{1,80}$/;

/** Fields of a run's files whose texts are words of Hone or of its libraries. */
const toldFields = new Set([
  ...[
    'type',
    'time',
    'task',
    'provider',
    'strategy',
    'shape',
    'optim',
    'lr_scheduler_type',
    'device',
    'phase',
  ],
  ...['code', 'outcome', 'kind', 'reason', 'quantization', 'quantizations', 'precision', 'versions'],
]);

/** A value with its numbers and switches, and the texts of told fields: others may be of rows or secret. */
function plain(value: unknown, isTold = false): unknown {
  if (typeof value === 'string') return isTold ? value : leftOut;
  if (Array.isArray(value)) return value.map((inner) => plain(inner, isTold));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, plain(inner, isTold || toldFields.has(name))]),
  );
}

/** Where an exception came from, and its type: its message may quote a row. */
const frames = (log: string): string[] =>
  log.split('\n').flatMap((line) => {
    const frame = /File "[^"]*?((?:site-packages|trainer)\/[^"]+)", line \d+, in [\w<>]+/.exec(line);
    const type = /^(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b/.exec(line);
    return frame !== null
      ? [frame[0].replace(/".*\/(?=site-packages|trainer\/)/, '"')]
      : type !== null
        ? [type[0]]
        : [];
  });

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return leftOut;
  }
}

/** What is told of a run: its settings, its journal without samples, and where it failed. */
function describeRun(folder: string): unknown {
  const of = (name: string) => textOf(join(folder, name));
  const journal = of('journal.jsonl').split('\n').filter(Boolean).map(jsonOf) as { type?: string }[];
  return {
    spec: plain(jsonOf(of('spec.json') || 'null')),
    journal: plain(journal.filter(({ type }) => type !== 'sample')),
    frames: frames(of('log.txt')),
  };
}

const modified = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function newestOf(jobsDir: string): string[] {
  const names = statSync(jobsDir, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(jobsDir) : [];
  return names
    .filter((name) => modified(join(jobsDir, name, 'spec.json')) > 0)
    .toSorted((one, other) => modified(join(jobsDir, other)) - modified(join(jobsDir, one)))
    .slice(0, newestRuns);
}

/**
 * `hone report [RUN…]`: makes an archive for a bug report in the working directory: what `doctor` finds, and the newest runs
 * without texts, so that it has neither rows nor secrets. Logs are in it only for the runs that are named.
 * @returns the exit code.
 * @throws AppError `invalid` for a run that is not there.
 */
export async function makeReport(config: Config): Promise<number> {
  const unknown = config.operands.find(
    (name) => !runName.test(name) || modified(join(config.jobsDir, name)) === 0,
  );
  if (unknown !== undefined)
    throw new AppError('invalid', `There is no run "${unknown}" in ${config.jobsDir}.`);
  const dir = mkdtempSync(join(tmpdir(), 'hone-report-'));
  try {
    const files: string[] = [];
    const add = (path: string, content: unknown) => {
      const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
      mkdirSync(join(dir, path, '..'), { recursive: true });
      writeFileSync(join(dir, path), text.replaceAll(homedir(), '~'));
      files.push(path);
    };
    add('machine.json', {
      hone: (jsonOf(textOf(join(config.installDir, 'package.json'))) as { version?: string }).version,
      node: process.version,
      system: `${process.platform} ${process.arch}`,
      variables: Object.keys(config.environment)
        .filter((name) => ownVariables.test(name))
        .sort(),
      checks: await examine(config),
    });
    for (const run of new Set([...newestOf(config.jobsDir), ...config.operands]))
      add(`runs/${run}.json`, describeRun(join(config.jobsDir, run)));
    for (const run of config.operands) add(`logs/${run}.txt`, textOf(join(config.jobsDir, run, 'log.txt')));
    const name = `hone-report-${new Date().toISOString().slice(0, 19).replaceAll(/[:T]/g, '-')}.tar.gz`;
    await create({ gzip: true, file: name, cwd: dir, portable: true }, files);
    const sizes = files.map((file) => `  ${file}, ${statSync(join(dir, file)).size} B`);
    process.stdout.write(`${name} contains:\n${sizes.join('\n')}\n`);
    process.stdout.write(
      config.operands.length === 0
        ? 'It has no rows, texts or secrets. To add the log of a run, name it: hone report RUN\n'
        : 'The logs may quote rows: read them before you send them.\n',
    );
    return 0;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
