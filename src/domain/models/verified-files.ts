import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Model } from './models.ts';

const figure = v.optional(v.nullable(v.number()), null);
const verifiedFile = v.object({
  passed: v.optional(v.boolean(), false),
  /** What the type costs: the loss on held-out rows, relative to that of the trained model in float32. */
  loss_increase: figure,
  /** Mean Kullback-Leibler divergence from the trained model, in nats. */
  mean_kl: figure,
  /** How often the likeliest token is the trained model's, 0 to 1. */
  agreement: figure,
});
/** What the trainer found out about a GGUF file; figures that it did not measure are `null`. */
export type VerifiedFile = Readonly<v.InferOutput<typeof verifiedFile>>;

const report = v.object({ files: v.record(v.string(), verifiedFile) });

/**
 * What is known of each GGUF type of a model that the trainer compared with the trained model. Types that were
 * quantized later, from one of these, are not among them.
 */
export async function readVerified({ path, artifacts }: Model): Promise<ReadonlyMap<string, VerifiedFile>> {
  const name = artifacts.find(({ kind }) => kind === 'verification')?.path ?? 'verification.json';
  try {
    const { files } = v.parse(report, JSON.parse(await readFile(join(path, name), 'utf8')));
    return new Map(Object.entries(files));
  } catch {
    // No report, or not one of ours.
    return new Map();
  }
}
