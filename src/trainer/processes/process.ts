import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A process, identified by its pid and start time, because pids are reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque: ticks since boot on Linux (proc(5), field 22 of stat), a date elsewhere. */
  readonly started: string;
}

/** How a child ended; both are `null` when unknown, because it was the child of an earlier service. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The start time of a process, or `null` when no such process exists (zombies do not count). */
export async function startOf(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
      // The command name is in parentheses and may contain spaces; the fields after it are counted from 3.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
    } catch {
      return null;
    }
  }
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const text = stdout.trim();
    return text === '' || text.startsWith('Z') ? null : text.replace(/^\S+\s+/, '');
  } catch {
    return null;
  }
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await startOf(identity.pid)) === identity.started;
}

/** Finds a running process that has `argument` among its arguments: a trainer whose pid was not stored. */
export async function findByArgument(argument: string): Promise<ProcessIdentity | null> {
  const identify = async (pid: number) => {
    const started = await startOf(pid);
    return started === null ? null : { pid, started };
  };
  if (process.platform === 'linux') {
    for (const name of await readdir('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const text = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
      if (text.split('\0').includes(argument)) return identify(Number(name));
    }
    return null;
  }
  const { stdout } = await run('ps', ['-axo', 'pid=,args='], { maxBuffer: 2 ** 24 });
  const line = stdout.split('\n').find((text) => text.includes(argument));
  return line === undefined ? null : identify(Number.parseInt(line, 10));
}

/** Signals the process group of a trainer. @returns false when the group no longer exists. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts a process that outlives this one: a new session and process group, no standard input, and both outputs
 * appended to `logPath`.
 * @returns its identity, and a promise of its exit.
 */
export async function spawnDetached(
  argv: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; logPath: string },
): Promise<{ identity: ProcessIdentity; ended: Promise<ProcessExit> }> {
  const log = openSync(options.logPath, 'a');
  try {
    const child = spawn(argv[0] as string, argv.slice(1), {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: ['ignore', log, log],
      windowsHide: true,
    });
    const ended = new Promise<ProcessExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', () => resolve({ code: null, signal: null }));
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    const pid = child.pid as number;
    return { identity: { pid, started: (await startOf(pid)) ?? 'ended' }, ended };
  } finally {
    closeSync(log);
  }
}
