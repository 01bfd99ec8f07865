import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import type { GenerateRequest } from '../../inference/engine/engine.ts';
import type { TrainedModel } from '../../inference/engine/trained-engine.ts';
import type { Model, Models } from '../models/models.ts';
import { readBaseNote, type SharedBases } from './shared-bases.ts';

type Adapters = NonNullable<GenerateRequest['adapters']>;

/** The files with which llama.cpp answers as a model or a checkpoint does. */
export interface GgufWeights {
  readonly template: string;
  /** The base model, or one that its adapters `unmerge` turn into the base model. */
  readonly gguf: string;
  readonly unmerge: Adapters;
  /** What the training changed; `null` if that is only in the merged file. */
  readonly adapter: string | null;
  /** Equal for the same base model; `null` if it was not recorded. */
  readonly base: string | null;
}

/** The files with which the trainer package answers. */
export interface TrainedWeights {
  readonly template: string;
  readonly trained: TrainedModel;
  readonly adapters: Adapters;
}

/**
 * The weights of a model with a GGUF: its base's file and its adapter where there is such a file, else the merged one.
 * @throws AppError `invalid` if neither is there.
 */
export async function weightsOf(
  model: Model,
  template: string,
  models: Models,
  bases: SharedBases,
): Promise<GgufWeights> {
  const note = await readBaseNote(model.path);
  const final = models.fileOf(model, 'adapter_gguf');
  const adapter = final !== null && (await exists(final)) ? final : null;
  const shared = adapter === null ? null : bases.fileOf(note);
  const base = note?.base ?? null;
  if (shared !== null) return { template, gguf: shared, unmerge: [], adapter, base };
  const gguf = await present(model, models.fileOf(model, 'gguf') as string);
  return { template, gguf, unmerge: adapter === null ? [] : [{ path: adapter, scale: -1 }], adapter, base };
}

/**
 * The weights of one of a model's GGUF files.
 * @param quantization its name in any case, such as `Q4_0`.
 * @throws AppError `invalid` with the files that there are.
 */
export async function weightsOfFile(
  model: Model,
  template: string,
  quantization: string,
): Promise<GgufWeights> {
  const files = model.artifacts.filter(({ kind }) => kind === 'gguf');
  const file = files.find((one) => one.quantization?.toLowerCase() === quantization.toLowerCase());
  if (file === undefined) {
    const names = files.flatMap((one) => one.quantization ?? []).join(', ');
    throw new AppError(
      'invalid',
      `The model ${model.name} has no ${quantization} file. It has ${names === '' ? 'no GGUF files' : names}.`,
    );
  }
  const gguf = await present(model, join(model.path, file.path));
  return { template, gguf, unmerge: [], adapter: null, base: null };
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** A file that must exist. @throws AppError `invalid` if it does not. */
export async function present(model: Model, path: string): Promise<string> {
  if (await exists(path)) return path;
  throw new AppError(
    'invalid',
    `A file of the model ${model.name} is missing: ${path}. Restore it or delete the model.`,
  );
}

/** Adapters without those that add nothing; one that is named twice has the sum of both scales. */
export function sumOf(adapters: Adapters): { path: string; scale: number }[] {
  const scales = new Map<string, number>();
  for (const { path, scale } of adapters) scales.set(path, (scales.get(path) ?? 0) + scale);
  // Sums of decimal fractions are not exact.
  return [...scales].flatMap(([path, scale]) => (Math.abs(scale) < 1e-6 ? [] : [{ path, scale }]));
}
