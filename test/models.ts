import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './folders.ts';

const sources = [
  'test/make_models.py',
  'trainer/tests/tiny.py',
  'trainer/tests/export_fixture.py',
  'trainer/tests/chat/models.py',
  'trainer/tests/chat/templates/mistral.jinja',
];

/**
 * Makes the randomly initialized base models that tests train, and caches them in `build/` until the code that makes
 * them changes. @returns their folder.
 */
export function makeModels(): string {
  const digest = createHash('sha256');
  for (const source of sources) digest.update(readFileSync(join(root, source)));
  const parent = join(root, 'build', 'tiny');
  const folder = join(parent, digest.digest('hex').slice(0, 12));
  if (existsSync(folder)) return folder;
  mkdirSync(parent, { recursive: true });
  const aside = `${folder}.${process.pid}`;
  execFileSync(join(root, 'trainer', '.venv', 'bin', 'python'), ['test/make_models.py', aside], {
    cwd: root,
    env: { ...process.env, PYTHONPATH: root, OMP_NUM_THREADS: '1', TQDM_DISABLE: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    renameSync(aside, folder);
  } catch {
    // Another test has made them in the meantime.
    rmSync(aside, { recursive: true, force: true });
  }
  return folder;
}

/**
 * One of the larger models, one for which llama.cpp's tokenization differs from the tokenizer's (`mixed`), or one whose
 * answers begin with white space that is not theirs (`spaced`).
 */
export const model = (name: 'small' | 'small-many-tokens' | 'mixed' | 'spaced') => join(makeModels(), name);

/** A tiny base model. */
export const tinyModel = (kind: string, template: 'none' | 'chatml' = 'none') =>
  join(makeModels(), `${kind}-${template}`);
