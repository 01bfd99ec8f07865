import { statSync } from 'node:fs';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { judgeKeysFile, serviceFile } from '../../contract/access.ts';
import { allowedEnvironment, childVariables } from '../../contract/child-environment.ts';
import type { JournalLine } from '../../contract/journal.ts';
import { readJournal } from '../journal.ts';
import {
  findByArgument,
  isAlive,
  type ProcessExit,
  type ProcessIdentity,
  signalGroup,
  spawnDetached,
} from './process.ts';

/** How much of a journal is stored at once: its frames are far below what may wait in a socket (`http/sockets.ts`). */
const partBytes = 2 ** 18;
/** How often the journal is polled: more often before the first step, because the early phases are short. */
const pollMs = { beforeSteps: 25, training: 100 };
/** How often to check whether a trainer that is not our child is still running. */
const alivePollMs = 500;

const wordSchema = v.object({ pid: v.number(), started: v.string() });

/** How to start a trainer. */
export interface TrainerCommand {
  readonly pythonPath: string;
  /** The base for a trainer's environment. */
  readonly environment: NodeJS.ProcessEnv;
  /** The folder that contains the package `trainer`. */
  readonly installDir: string;
  /** The data directory of the service, for what asks it. */
  readonly dataDir?: string;
  /** The cluster for runs with several workers, if any. */
  readonly cluster?: { readonly address: string; readonly tokenPath: string } | null;
}

/** Events of a running trainer, in order; `end` is the last. */
export type TrainerEvent =
  | { readonly kind: 'lines'; readonly lines: JournalLine[]; readonly offset: number }
  | { readonly kind: 'stalled'; readonly silentMs: number }
  | { readonly kind: 'end'; readonly exit: ProcessExit; readonly logTail: string };

/** A trainer process: our child, or one found after a restart. */
export interface Trainer {
  readonly identity: ProcessIdentity;
  /** Known only for our own child. */
  readonly ended: Promise<ProcessExit> | null;
}

/**
 * What only a trainer that downloads gets: the hub token, and proxies, whose addresses may contain a password. It
 * replaces itself by a process without them before it loads a model. `null` if there is none of them.
 */
export function downloadSecrets(
  command: TrainerCommand,
  hubToken: string | null,
): Record<string, string> | null {
  const secrets = allowedEnvironment(command.environment, childVariables.download);
  if (hubToken !== null) secrets.HF_TOKEN = hubToken;
  return Object.keys(secrets).length === 0 ? null : secrets;
}

/**
 * The environment of a trainer: only variables that it is known to need, so that no file of a model can leak another
 * one, and the secrets of a download.
 */
export function trainerEnvironment(
  command: TrainerCommand,
  secrets: Record<string, string> | null,
): NodeJS.ProcessEnv {
  return {
    ...allowedEnvironment(command.environment, childVariables.trainer),
    ...secrets,
    HONE_CLUSTER: command.cluster?.address,
    HONE_CLUSTER_FILE: command.cluster?.tokenPath,
    // How models judge answers: those of this service, and of others by keys (trainer/grading/judge_server.py).
    HONE_SERVICE_FILE: command.dataDir && join(command.dataDir, serviceFile),
    HONE_JUDGE_KEYS_FILE: command.dataDir && join(command.dataDir, judgeKeysFile),
    PYTHONPATH: command.installDir,
    // The working directory is the job folder; nothing in it may be imported.
    PYTHONSAFEPATH: '1',
    PYTHONUNBUFFERED: '1',
    PYTHONDONTWRITEBYTECODE: '1',
    HF_HUB_DISABLE_TELEMETRY: '1',
    HF_HUB_DISABLE_IMPLICIT_TOKEN: secrets?.HF_TOKEN === undefined ? '1' : '0',
    TOKENIZERS_PARALLELISM: 'false',
    // Makes waiting threads sleep. Spinning threads are up to 50 times slower when another process uses the CPU; on an
    // idle machine sleeping costs 15 % (measured with PyTorch's libgomp).
    OMP_WAIT_POLICY: command.environment.OMP_WAIT_POLICY ?? 'passive',
  };
}

export async function startTrainer(
  command: TrainerCommand,
  jobDir: string,
  env: NodeJS.ProcessEnv,
): Promise<Trainer> {
  return spawnDetached([command.pythonPath, '-m', 'trainer', 'run', join(jobDir, 'spec.json')], {
    cwd: jobDir,
    env,
    logPath: join(jobDir, 'log.txt'),
  });
}

/** Finds the trainer of a job started by an earlier service; `known` is its stored identity, if any. */
export async function findTrainer(jobDir: string, known: ProcessIdentity | null): Promise<Trainer | null> {
  if (known !== null && (await isAlive(known))) return { identity: known, ended: null };
  const told = await leftWord(jobDir);
  if (told !== null && (await isAlive(told))) return { identity: told, ended: null };
  const identity = await findByArgument(join(jobDir, 'spec.json'));
  return identity === null ? null : { identity, ended: null };
}

/** The identity file of a trainer forked from a warm one, whose arguments it shares. */
async function leftWord(jobDir: string): Promise<ProcessIdentity | null> {
  try {
    return v.parse(wordSchema, JSON.parse(await readFile(join(jobDir, 'process.json'), 'utf8')));
  } catch {
    // It is missing, or damaged by a loss of power; then the arguments of processes remain.
    return null;
  }
}

/**
 * Follows a trainer to its end. Yields journal lines from `offset`, `stalled` when the heartbeat has not changed for
 * `heartbeatMs` (measured with the monotonic clock), and finally how the trainer ended with the last lines of its log.
 * Without a trainer it yields the remaining journal lines and ends.
 * @param signal stops following, but not the trainer.
 */
export async function* followTrainer(
  trainer: Trainer | null,
  options: {
    jobDir: string;
    offset: number;
    heartbeatMs: number;
    signal: AbortSignal;
    onBadLine: (text: string, reason: string) => void;
  },
): AsyncGenerator<TrainerEvent> {
  const journalPath = join(options.jobDir, 'journal.jsonl');
  const heartbeatPath = join(options.jobDir, 'heartbeat');
  let offset = options.offset;
  let exit: ProcessExit | null = trainer === null ? { code: null, signal: null } : null;
  trainer?.ended?.then((result) => {
    exit = result;
  });
  let lastBeat: number | null = null;
  let beatAt = performance.now();
  let aliveCheckAt = 0;
  let stalled = false;
  let steps = false;
  while (!options.signal.aborted) {
    // The process is checked before the journal is read, so that the last lines are not missed.
    if (exit === null && trainer?.ended === null && performance.now() >= aliveCheckAt) {
      aliveCheckAt = performance.now() + alivePollMs;
      if (!(await isAlive(trainer.identity))) exit = { code: null, signal: null };
    }
    const ended = exit;
    let chunk = readJournal(journalPath, offset, options.onBadLine, partBytes);
    while (chunk.offset > offset) {
      offset = chunk.offset;
      beatAt = performance.now();
      steps ||= chunk.lines.some(({ type }) => type === 'metric');
      yield { kind: 'lines', lines: chunk.lines, offset };
      // A journal may grow as fast as it is stored: requests and sockets have their turn in between.
      await nextTurn();
      chunk = readJournal(journalPath, offset, options.onBadLine, partBytes);
    }
    if (ended !== null) {
      yield { kind: 'end', exit: ended, logTail: await readTail(join(options.jobDir, 'log.txt')) };
      return;
    }
    const beat = statSync(heartbeatPath, { throwIfNoEntry: false })?.mtimeMs ?? null;
    if (beat !== lastBeat) {
      lastBeat = beat;
      beatAt = performance.now();
      stalled = false;
    }
    const silentMs = performance.now() - beatAt;
    if (!stalled && silentMs > options.heartbeatMs) {
      stalled = true;
      yield { kind: 'stalled', silentMs };
    }
    await sleep(steps ? pollMs.training : pollMs.beforeSteps, undefined, { signal: options.signal }).catch(
      () => undefined,
    );
  }
}

/** Stops a trainer in escalating steps: the file `stop`, then SIGTERM, then SIGKILL to the process group. */
export async function stopTrainer(
  trainer: Trainer,
  jobDir: string,
  waits: { askMs: number; termMs: number },
): Promise<void> {
  await writeFile(join(jobDir, 'stop'), '');
  if (!(await endsWithin(trainer, waits.askMs))) await killTrainer(trainer, waits.termMs);
}

/** Kills a trainer without asking it to save: SIGTERM, then SIGKILL to the process group. */
export async function killTrainer(trainer: Trainer, termMs: number): Promise<void> {
  if (!(await isAlive(trainer.identity))) return;
  signalGroup(trainer.identity.pid, 'SIGTERM');
  // A process that is suspended (SIGSTOP) handles no SIGTERM until it continues.
  signalGroup(trainer.identity.pid, 'SIGCONT');
  if (!(await endsWithin(trainer, termMs))) signalGroup(trainer.identity.pid, 'SIGKILL');
}

/** Whether a trainer ends on its own within `ms`. */
export async function endsWithin(trainer: Trainer, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    if (!(await isAlive(trainer.identity))) return true;
    await sleep(Math.min(200, Math.max(1, until - performance.now())));
  }
  return !(await isAlive(trainer.identity));
}

/** The last lines of a file, at most `maxBytes`; empty if the file does not exist. */
export async function readTail(path: string, maxBytes = 4_096): Promise<string> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const text = buffer.toString('utf8');
    return (size > maxBytes ? text.slice(text.indexOf('\n') + 1) : text).trimEnd();
  } finally {
    await file.close();
  }
}
