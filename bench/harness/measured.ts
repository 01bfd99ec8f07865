import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { python, root } from './places.ts';

/** A program that has exited successfully, with its resource usage as recorded by the operating system. */
export interface MeasuredRun {
  readonly stdout: string;
  readonly wallSeconds: number;
  /** User and system time of the process and of every descendant that was waited for. */
  readonly cpuSeconds: number;
  /** The largest resident set of any single process among them. */
  readonly peakBytes: number;
}

/**
 * Runs a program to its end in a fresh process, measured with `wait4` (see measured.py).
 * @throws when its exit code is not 0, with the end of its stderr.
 */
export async function runMeasured(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<MeasuredRun> {
  const wrapper = join(root, 'bench', 'harness', 'measured.py');
  const child = spawn(python, ['-S', '-E', wrapper, command, ...args], {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined); // the program may exit without reading its input
  child.stdin.end(options.input ?? '');
  const [stdout, stderr, account] = await Promise.all([
    readAll(child.stdout),
    readAll(child.stderr),
    readAll(child.stdio[3] as NodeJS.ReadableStream),
    new Promise((done, fail) => child.once('close', done).once('error', fail)),
  ]);
  const [wallSeconds, cpuSeconds, peakBytes, code] = account.split(' ').map(Number);
  if (code !== 0) {
    throw new Error(`${command} ${args.join(' ').slice(0, 200)} ended with ${code}:\n${stderr.slice(-4000)}`);
  }
  return {
    stdout,
    wallSeconds: wallSeconds as number,
    cpuSeconds: cpuSeconds as number,
    peakBytes: peakBytes as number,
  };
}

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
