import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Quantization,
  quantizations,
  quantizationTypes,
} from '../../../contract/models/quantizations.ts';
import type { ModelArtifact } from '../../../db/tables/models.ts';
import { AppError } from '../../../errors.ts';
import { importanceTokens } from '../../../inference/gguf/importance-tokens.ts';
import { type QuantizeProcessOptions, quantizeInProcess } from '../../../native/quantize-process.ts';
import type { Exported } from '../../../trainer/reexport.ts';
import type { Model } from '../models.ts';

/** The importance matrix in a model's folder (`trainer/export/importance/matrix.py`). */
const importanceName = 'importance.gguf';

/** Makes a type of the `source` of a model, by its importance matrix if it has one and the type takes it. @throws AppError as `quantizeInProcess` does. */
export async function quantizeFile(
  model: Model,
  source: ModelArtifact,
  type: Quantization,
  options: QuantizeProcessOptions,
): Promise<Exported> {
  const path = `model-${type}.gguf`;
  const matrix = join(model.path, importanceName);
  const importance = quantizations[type].importance && existsSync(matrix) ? matrix : null;
  const made = { ...options, importance };
  await quantizeInProcess(join(model.path, source.path), join(model.path, path), type, made);
  const { size: bytes } = await stat(join(model.path, path));
  const tokens = importance === null ? null : await importanceTokens(importance);
  const by = tokens === null ? {} : { importance_tokens: tokens };
  const files = [{ quantization: type, state: 'done' as const, reason: null, ...by }];
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
