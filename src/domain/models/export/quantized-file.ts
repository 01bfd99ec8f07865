import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Quantization, quantizationTypes } from '../../../contract/models/quantizations.ts';
import type { ModelArtifact } from '../../../db/tables/models.ts';
import { AppError } from '../../../errors.ts';
import { type QuantizeProcessOptions, quantizeInProcess } from '../../../native/quantize-process.ts';
import type { Exported } from '../../../trainer/reexport.ts';
import type { Model } from '../models.ts';

/** Makes a type of the `source` of a model. @throws AppError as `quantizeInProcess` does. */
export async function quantizeFile(
  model: Model,
  source: ModelArtifact,
  type: Quantization,
  options: QuantizeProcessOptions,
): Promise<Exported> {
  const path = `model-${type}.gguf`;
  await quantizeInProcess(join(model.path, source.path), join(model.path, path), type, options);
  const { size: bytes } = await stat(join(model.path, path));
  const files = [{ quantization: type, state: 'done' as const, reason: null }];
  return {
    export: { state: 'done', code: null, reason: null, advice: null, files },
    verification: null,
    artifacts: [{ kind: 'gguf', path, bytes, quantization: type }],
  };
}

/**
 * The best file of a model, of which a type can be made.
 * @throws AppError `conflict` if that type is there, `invalid` if there is nothing better.
 */
export function quantizationSource({ artifacts, name }: Model, type: Quantization): ModelArtifact {
  const files = artifacts.filter(({ kind }) => kind === 'gguf');
  if (files.some(({ quantization }) => quantization === type)) {
    throw new AppError('conflict', `${name} already has a ${type} file.`);
  }
  const rank = (found: string | null) => quantizationTypes.indexOf(found as Quantization);
  const [source] = [...files].sort((a, b) => rank(a.quantization) - rank(b.quantization));
  if (source === undefined) {
    throw new AppError('invalid', `${name} has no GGUF file to quantize. Export it instead.`);
  }
  if (rank(source.quantization) > rank(type)) {
    throw new AppError(
      'invalid',
      `${type} cannot be made from ${source.quantization}, the best file of ${name}: lost precision cannot be restored. Export it instead.`,
    );
  }
  return source;
}
