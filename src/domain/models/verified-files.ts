import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model } from './models.ts';

/**
 * Which GGUF types of a model the trainer compared with the trained model, and whether each passed. Types that were
 * made later, from one of these, are not among them.
 */
export async function readVerified({ path, artifacts }: Model): Promise<ReadonlyMap<string, boolean>> {
  const report = artifacts.find(({ kind }) => kind === 'verification')?.path ?? 'verification.json';
  try {
    const { files } = JSON.parse(await readFile(join(path, report), 'utf8'));
    return new Map(
      Object.entries(files as Record<string, { passed?: unknown }>).map(([type, { passed }]) => [
        type,
        passed === true,
      ]),
    );
  } catch {
    // No report, or not one of ours.
    return new Map();
  }
}
