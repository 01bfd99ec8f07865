import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startBar } from '../client/bar.ts';
import type { Options } from './options.ts';

/** What is needed to make it, and where it is kept. */
type Places = Pick<Options, 'installDir' | 'pythonPath' | 'cacheDir'>;

const stepLine = /^starter: step (\d+)\/(\d+) loss (\S+) left (\d+)s/;

/** Runs `python -m trainer starter` and passes on its output line by line. */
async function runStarter(
  options: Places,
  args: string[],
  onLine: (line: string) => void = () => undefined,
): Promise<string> {
  const child = spawn(options.pythonPath, ['-m', 'trainer', 'starter', ...args], {
    cwd: options.installDir,
    env: { ...process.env, PYTHONPATH: options.installDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  let errors = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    onLine(line);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString('utf8')).slice(-2_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`could not train the starter model (exit code ${code})\n${errors}`);
  return lines.join('\n').trim();
}

/**
 * Trains the starter model unless it is cached under the digest of its recipe.
 * @returns its folder.
 */
export async function makeStarter(options: Places): Promise<string> {
  const folder = join(options.cacheDir, `starter-${await runStarter(options, ['--digest'])}`);
  if (existsSync(join(folder, 'starter.json'))) return folder;
  mkdirSync(options.cacheDir, { recursive: true });
  console.log('Training a small language model from scratch (only once; it is kept for next time)');
  const bar = startBar('Starter');
  try {
    await runStarter(options, ['--out', folder], (line) => {
      const found = stepLine.exec(line);
      if (found === null) return;
      const [, step, steps, loss, left] = found;
      bar.update(Number(step) / Number(steps), `loss ${loss} · ${left} s left`);
    });
  } catch (error) {
    bar.end('failed');
    throw error;
  }
  bar.end(`saved in ${folder}`);
  return folder;
}
