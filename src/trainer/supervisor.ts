import { statSync } from 'node:fs';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { readJournal } from './journal.ts';
import {
  findByArgument,
  isAlive,
  type ProcessExit,
  type ProcessIdentity,
  signalGroup,
  spawnDetached,
} from './process.ts';
import type { JournalLine } from './protocol.ts';

/** How often the journal is looked at: until the first step somebody waits for each of its short phases. */
const pollMs = { beforeSteps: 25, training: 100 };
/** How often it is asked whether a trainer that is not our child still runs. */
const alivePollMs = 500;

const wordSchema = v.object({ pid: v.number(), started: v.string() });

/** Where a trainer is found and how it is started. */
export interface TrainerCommand {
  readonly pythonPath: string;
  /** What a trainer's environment is made of. */
  readonly environment: NodeJS.ProcessEnv;
  /** The folder that holds the package `trainer`. */
  readonly installDir: string;
}

/** What a running trainer tells, in order; `end` is the last. */
export type TrainerEvent =
  | { readonly kind: 'lines'; readonly lines: JournalLine[]; readonly offset: number }
  | { readonly kind: 'stalled'; readonly silentMs: number }
  | { readonly kind: 'end'; readonly exit: ProcessExit; readonly logTail: string };

/** One trainer process, our child or found again. */
export interface Trainer {
  readonly identity: ProcessIdentity;
  /** Known only of our own child. */
  readonly ended: Promise<ProcessExit> | null;
}

/**
 * The environment of a trainer: ours without any token, so that neither a model's code path nor a log of
 * the environment can leak one; the token is added only for a job that downloads.
 */
export function trainerEnvironment(command: TrainerCommand, hubToken: string | null): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {};
  for (const [key, value] of Object.entries(command.environment)) {
    if (!/TOKEN|SECRET|PASSWORD|API_?KEY|CREDENTIAL/i.test(key)) env[key] = value;
  }
  return {
    ...env,
    ...(hubToken === null ? {} : { HF_TOKEN: hubToken }),
    PYTHONPATH: command.installDir,
    // The working directory is the job's folder; nothing in it may be imported.
    PYTHONSAFEPATH: '1',
    PYTHONUNBUFFERED: '1',
    PYTHONDONTWRITEBYTECODE: '1',
    HF_HUB_DISABLE_TELEMETRY: '1',
    HF_HUB_DISABLE_IMPLICIT_TOKEN: hubToken === null ? '1' : '0',
    TOKENIZERS_PARALLELISM: 'false',
    // Threads that wait sleep. Spinning ones are up to 50 times slower beside another busy process, which a
    // person's own machine has; on an idle one sleeping costs 15 % (measured with PyTorch's libgomp).
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

/** Finds the trainer of a job that another server started; `known` is what that one stored, if it could. */
export async function findTrainer(jobDir: string, known: ProcessIdentity | null): Promise<Trainer | null> {
  if (known !== null && (await isAlive(known))) return { identity: known, ended: null };
  const told = await leftWord(jobDir);
  if (told !== null && (await isAlive(told))) return { identity: told, ended: null };
  const identity = await findByArgument(join(jobDir, 'spec.json'));
  return identity === null ? null : { identity, ended: null };
}

/** What a trainer that was forked from a warm one wrote of itself; it has that one's arguments. */
async function leftWord(jobDir: string): Promise<ProcessIdentity | null> {
  const text = await readFile(join(jobDir, 'process.json'), 'utf8').catch(() => null);
  return text === null ? null : v.parse(wordSchema, JSON.parse(text));
}

/**
 * Follows a trainer to its end: journal lines from `offset` on, a `stalled` when its heartbeat has not
 * moved for `heartbeatMs` (by the monotonic clock, so setting the clock changes nothing), and how it ended
 * with the last lines of its log. With no trainer it yields what the journal still holds and ends.
 * @param signal aborts the following, never the trainer.
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
    // Whether it has ended is asked before the journal is read, so that the last lines are not missed.
    if (exit === null && trainer?.ended === null && performance.now() >= aliveCheckAt) {
      aliveCheckAt = performance.now() + alivePollMs;
      if (!(await isAlive(trainer.identity))) exit = { code: null, signal: null };
    }
    const ended = exit;
    let chunk = readJournal(journalPath, offset, options.onBadLine);
    while (chunk.offset > offset) {
      offset = chunk.offset;
      beatAt = performance.now();
      steps ||= chunk.lines.some(({ type }) => type === 'metric');
      yield { kind: 'lines', lines: chunk.lines, offset };
      chunk = readJournal(journalPath, offset, options.onBadLine);
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

/** Asks a trainer to stop and, rung by rung, makes it: the file `stop`, SIGTERM, SIGKILL to the group. */
export async function stopTrainer(
  trainer: Trainer,
  jobDir: string,
  waits: { askMs: number; termMs: number },
): Promise<void> {
  await writeFile(join(jobDir, 'stop'), '');
  if (!(await endsWithin(trainer, waits.askMs))) await killTrainer(trainer, waits.termMs);
}

/** The lower rungs alone, for a trainer that cannot be asked: SIGTERM, then SIGKILL to the group. */
export async function killTrainer(trainer: Trainer, termMs: number): Promise<void> {
  if (!(await isAlive(trainer.identity))) return;
  signalGroup(trainer.identity.pid, 'SIGTERM');
  // A process that is stopped (SIGSTOP) handles no SIGTERM until it continues.
  signalGroup(trainer.identity.pid, 'SIGCONT');
  if (!(await endsWithin(trainer, termMs))) signalGroup(trainer.identity.pid, 'SIGKILL');
}

/** Whether a trainer ends by itself within `ms`. */
export async function endsWithin(trainer: Trainer, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    if (!(await isAlive(trainer.identity))) return true;
    await sleep(Math.min(200, Math.max(1, until - performance.now())));
  }
  return !(await isAlive(trainer.identity));
}

/** The last lines of a file, at most `maxBytes` of them; empty when there is none. */
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
