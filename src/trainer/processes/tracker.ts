import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import * as v from 'valibot';
import { allowedEnvironment, childVariables } from '../../contract/child-environment.ts';
import { type TrackerName, trackersFolder } from '../../contract/training/trackers.ts';
import { signalGroup } from './process.ts';
import type { TrainerCommand } from './supervisor.ts';

/** Where a tracker is in the data directory: its packages, and the runs that have no server. */
export function trackerPlaces(dataDir: string, name: TrackerName) {
  const folder = join(dataDir, trackersFolder, name);
  return { packages: join(folder, 'packages'), runs: join(folder, 'runs') };
}

const told = v.pipe(
  v.string(),
  v.parseJson(),
  v.union([v.object({ where: v.string(), url: v.nullable(v.string()) }), v.object({ failed: v.string() })]),
);
/** What a process tells of a run: where the tracker has it, or why it has no more of it. */
export type TrackerWord = v.InferOutput<typeof told>;

/** A process that passes the figures of a run to a tracker (trainer/tracking). */
export interface TrackerProcess {
  /** Tells how the run ended: it then passes on what is left, and ends. */
  end(state: string): void;
  /** Lets it save what it did, and end; a later process continues. */
  leave(): void;
  kill(): void;
  /** Resolves when it has ended, with whether it did so by itself and without an error. */
  readonly ended: Promise<boolean>;
}

/**
 * Starts a process with the tracker's packages, and without those of the trainer.
 * @param environment what it has besides the service's.
 * @returns `null` if the tracker is not installed.
 */
export function startTracker(
  command: TrainerCommand & { readonly dataDir: string },
  name: TrackerName,
  jobDir: string,
  environment: Readonly<Record<string, string>>,
  tell: (word: TrackerWord) => void,
): TrackerProcess | null {
  const { packages, runs } = trackerPlaces(command.dataDir, name);
  if (!existsSync(packages)) return null;
  mkdirSync(runs, { recursive: true });
  const log = openSync(join(jobDir, `tracker-${name}.log`), 'a');
  const child = spawn(command.pythonPath, ['-S', '-m', 'trainer.tracking', name, runs, jobDir], {
    cwd: runs,
    env: { ...trackerEnvironment(command, packages), ...environment },
    stdio: ['pipe', 'pipe', log],
    // A group of its own: W&B has a process, too.
    detached: true,
    windowsHide: true,
  });
  closeSync(log);
  const [input, output] = [child.stdin as Writable, child.stdout as Readable];
  // It may end before it is told.
  input.on('error', () => {});
  createInterface(output).on('line', (line) => {
    const read = v.safeParse(told, line);
    if (read.success) tell(read.output);
  });
  return {
    end: (state) => input.end(`${state}\n`),
    leave: () => input.end(),
    kill: () => void (child.pid !== undefined && signalGroup(child.pid, 'SIGKILL')),
    ended: new Promise((resolve) => {
      child.once('close', (code) => resolve(code === 0));
      child.once('error', () => resolve(false));
    }),
  };
}

/** The environment of a program that uses the packages of a tracker. */
export const trackerEnvironment = (command: TrainerCommand, packages: string): NodeJS.ProcessEnv => ({
  ...allowedEnvironment(command.environment, childVariables.tracker),
  PYTHONPATH: [packages, command.installDir].join(process.platform === 'win32' ? ';' : ':'),
  PYTHONSAFEPATH: '1',
  PYTHONDONTWRITEBYTECODE: '1',
});
