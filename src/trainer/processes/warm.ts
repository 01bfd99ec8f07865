import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { connectFork } from './connect-fork.ts';
import { isAlive, type ProcessExit, startOf } from './process.ts';
import { findTrainer, type Trainer, type TrainerCommand, trainerEnvironment } from './supervisor.ts';

/** The output lines of `python -m trainer warm` (trainer/warm.py). */
const lineSchema = v.union([
  v.object({ ready: v.literal(true) }),
  v.object({ started: v.string(), pid: v.number() }),
  v.object({ refused: v.string(), reason: v.string() }),
  v.object({ ended: v.number(), code: v.nullable(v.number()), signal: v.nullable(v.string()) }),
]);

/** A fork takes milliseconds. A process that has not answered after this time is stuck and is killed. */
const forkMs = 30_000;
/** How long a fork whose parent was killed may take to write its identity file to the job folder. */
const wordMs = 1_000;
const alivePollMs = 500;

/** A trainer process that has imported everything in advance and forks for each job. */
export interface WarmTrainer {
  /** Starts importing, because a job is likely to start soon. Does nothing if it is already warm. */
  expect(): Promise<void>;
  /**
   * Forks a trainer for the job in `jobDir`; null if the process is not warm yet or the fork failed.
   * @param devices variables that say which devices it may use.
   */
  start(jobDir: string, devices: NodeJS.ProcessEnv): Promise<Trainer | null>;
  /**
   * Forks a process that answers for a model (trainer/answering), after the imports if they are under way; null if
   * there is no such process or the fork failed.
   */
  answer(env: NodeJS.ProcessEnv): Promise<ChildProcess | null>;
  close(): void;
}

interface Fork {
  readonly pid: number;
  readonly told: Promise<ProcessExit>;
}

interface Warm {
  readonly child: ChildProcess;
  ready: boolean;
  /** Resolves when it is ready. */
  readonly imported: Promise<void>;
  readonly gone: Promise<void>;
  readonly awaitingStart: Map<string, (fork: Fork | null) => void>;
  readonly awaitingEnd: Map<number, (exit: ProcessExit) => void>;
}

/**
 * Keeps one warm trainer while it is used. Linux only: a fork without exec is unsafe on macOS and does not exist on
 * Windows.
 * @param idleMs after this long without use the process is ended; 0 disables warm trainers.
 * @param possible whether the machine has enough free memory, and no device whose driver fails after a fork.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the state of one process
export function createWarmTrainer(options: {
  command: TrainerCommand;
  idleMs: number;
  possible: () => Promise<boolean>;
  onReady: () => void;
  onProblem: (text: string) => void;
}): WarmTrainer {
  const able = process.platform === 'linux' && options.idleMs > 0;
  const env = trainerEnvironment(options.command, null);
  let warm: Warm | null = null;
  let idle: NodeJS.Timeout | null = null;
  let closed = false;

  function used(): void {
    if (idle !== null) clearTimeout(idle);
    idle = setTimeout(giveBackUnlessBusy, options.idleMs);
    idle.unref();
  }

  /** Only the parent learns the exit status of a fork, so it must outlive its forks. */
  function giveBackUnlessBusy(): void {
    if (warm !== null && warm.awaitingEnd.size > 0) used();
    else giveBack();
  }

  function giveBack(): void {
    if (idle !== null) clearTimeout(idle);
    // It exits when its standard input closes; its forks continue.
    warm?.child.stdin?.end();
    warm = null;
  }

  function begin(): Warm {
    const child = spawn(options.command.pythonPath, ['-m', 'trainer', 'warm'], {
      cwd: options.command.installDir,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let errors = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-2_000);
    });
    // The process may exit while it is being written to.
    child.stdin?.on('error', () => undefined);
    const awaitingStart: Warm['awaitingStart'] = new Map();
    const awaitingEnd: Warm['awaitingEnd'] = new Map();
    const gone = new Promise<void>((resolve) => {
      child.once('error', () => resolve());
      child.once('close', (code) => {
        if (code !== 0 && code !== null) options.onProblem(errors.trim().split('\n').at(-1) ?? '');
        resolve();
      });
    });
    let finish = (): void => undefined;
    const imported = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const made: Warm = { child, ready: false, imported, gone, awaitingStart, awaitingEnd };
    void gone.then(() => {
      if (warm === made) warm = null;
      for (const settle of awaitingStart.values()) settle(null);
    });
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (text) => {
      const line = v.parse(lineSchema, JSON.parse(text));
      if ('ready' in line) {
        made.ready = true;
        finish();
        options.onReady();
      } else if ('started' in line) {
        const { pid } = line;
        const told = new Promise<ProcessExit>((resolve) => awaitingEnd.set(pid, resolve));
        awaitingStart.get(line.started)?.({ pid, told });
      } else if ('refused' in line) awaitingStart.get(line.refused)?.(null);
      else {
        awaitingEnd.get(line.ended)?.({ code: line.code, signal: line.signal });
        awaitingEnd.delete(line.ended);
      }
    });
    child.unref();
    for (const pipe of [child.stdin, child.stdout, child.stderr]) {
      (pipe as unknown as { unref?: () => void } | null)?.unref?.();
    }
    return made;
  }

  /** Orders a fork, known by `name`; null if it failed. */
  async function forkFor(made: Warm, name: string, order: object): Promise<Fork | null> {
    const forked = new Promise<Fork | null>((resolve) => made.awaitingStart.set(name, resolve));
    made.child.stdin?.write(`${JSON.stringify(order)}\n`);
    const stuck = setTimeout(() => made.child.kill('SIGKILL'), forkMs);
    const fork = await forked;
    clearTimeout(stuck);
    made.awaitingStart.delete(name);
    return fork;
  }

  async function identityOf(fork: Fork): Promise<Trainer['identity']> {
    return { pid: fork.pid, started: (await startOf(fork.pid)) ?? 'ended' };
  }

  /** The exit of a fork as reported by its parent; if the parent is gone, unknown and detected by polling. */
  function endOf(made: Warm, fork: Fork, identity: Trainer['identity']): Promise<ProcessExit> {
    const orphaned = made.gone.then(async () => {
      while (await isAlive(identity)) await sleep(alivePollMs, undefined, { ref: false });
      return { code: null, signal: null };
    });
    return Promise.race([fork.told, orphaned]);
  }

  return {
    async expect() {
      if (!able || (warm === null && !(await options.possible())) || closed) return;
      warm ??= begin();
      used();
    },
    async start(jobDir, devices) {
      const made = warm;
      if (made === null) return null;
      if (!made.ready) {
        // Its imports would compete with those of the new trainer.
        made.child.kill('SIGKILL');
        warm = null;
        return null;
      }
      used();
      const service = { pid: process.pid, started: await startOf(process.pid) };
      const spec = join(jobDir, 'spec.json');
      const log = join(jobDir, 'log.txt');
      const order = { run: spec, cwd: jobDir, log, env: { ...env, ...devices }, service };
      const fork = await forkFor(made, spec, order);
      if (fork === null) {
        await sleep(wordMs);
        return findTrainer(jobDir, null);
      }
      const identity = await identityOf(fork);
      return { identity, ended: endOf(made, fork, identity) };
    },
    async answer(answering) {
      const made = warm;
      if (made === null) return null;
      await Promise.race([made.imported, made.gone]);
      if (warm !== made) return null;
      used();
      return connectFork(async (socket) => {
        const fork = await forkFor(made, socket, { answer: socket, env: answering });
        if (fork === null) return null;
        const identity = await identityOf(fork);
        return { identity, ended: endOf(made, fork, identity) };
      });
    },
    close() {
      closed = true;
      giveBack();
    },
  };
}
