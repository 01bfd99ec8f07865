import { stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { quantizationTypes } from '../../contract/quantizations.ts';
import type { ModelArtifact } from '../../db/models.ts';
import type { Store } from '../../db/store.ts';
import { AppError, asAppError } from '../../errors.ts';
import { readGguf } from '../../inference/gguf.ts';
import { quantizeInProcess } from '../../native/quantize-process.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { checkRoom } from '../machine/disk-room.ts';
import { writeModelFile } from './model-file.ts';
import type { Model, Models } from './models.ts';

/** Quantizes models to further GGUF types. */
export interface Quantizer {
  /**
   * Starts to write a type from the best one that there is; its progress and end come as `export` frames. Resolves once
   * llama.cpp has read the source and begun.
   * @throws AppError `not_found`, `invalid` (no GGUF, a damaged one, or nothing better to make it of), `conflict` (it
   *   is there, or another is being made), `unavailable` (the process that quantizes does not start, or was killed).
   */
  start(reference: string, type: string): Promise<Model>;
  /** @throws AppError `conflict` while a type of the model is being made. */
  release(model: Model): void;
  /** Cancels the current quantization and removes its file. */
  close(): Promise<void>;
}

export function createQuantizer(options: {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly models: Models;
  /** As in `quantizeInProcess`. */
  readonly command: readonly string[];
  readonly silenceMs: number;
}): Quantizer {
  const { store, frames, models, command, silenceMs } = options;
  const making = new Map<string, { type: string; done: Promise<void> }>();
  const closing = new AbortController();

  function refuseSecond(model: Model): void {
    const other = making.get(model.modelId);
    if (other !== undefined) {
      throw new AppError(
        'conflict',
        `${model.name} is being quantized to ${other.type}. Wait until that has finished.`,
      );
    }
  }

  /** `onBegin` is called at the first progress. @throws what fails before that; a later failure is told by its frame. */
  async function make(model: Model, source: ModelArtifact, type: string, onBegin: () => void): Promise<void> {
    const path = join(dirname(source.path), `model-${type}.gguf`);
    const about = { model_id: model.modelId, id: model.id, kind: 'gguf', path, quantization: type };
    let begun = false;
    try {
      await quantizeInProcess(join(model.path, source.path), join(model.path, path), type, {
        command,
        silenceMs,
        signal: closing.signal,
        onProgress: (progress) => {
          begun = true;
          onBegin();
          frames.send('export', null, { ...about, state: 'running', progress });
        },
      });
      const { size: bytes } = await stat(join(model.path, path));
      frames.commit((emit) => {
        const artifacts = [
          ...models.find(model.modelId).artifacts,
          { kind: 'gguf', path, bytes, quantization: type },
        ];
        store.models.setArtifacts(model.id, artifacts, model.sizeBytes + bytes);
        emit('export', null, { ...about, state: 'completed', progress: 1, bytes });
      });
      await writeModelFile(models.find(model.modelId));
    } catch (error) {
      // The model's folder is no concern of a remote client.
      const { kind, message: told } = asAppError(error);
      const message = told.replaceAll(`${model.path}${sep}`, '');
      if (!begun) throw new AppError(kind, message, { cause: error });
      frames.commit((emit) => emit('export', null, { ...about, state: 'failed', error: message }));
    }
  }

  return {
    async start(reference, type) {
      const model = models.find(reference);
      refuseSecond(model);
      const files = model.artifacts.filter(({ kind }) => kind === 'gguf');
      if (files.some(({ quantization }) => quantization === type)) {
        throw new AppError('conflict', `${model.name} already has a ${type} file.`);
      }
      const rank = (name: string | null) =>
        quantizationTypes.indexOf(name as (typeof quantizationTypes)[number]);
      const source = [...files].sort((a, b) => rank(a.quantization) - rank(b.quantization))[0];
      if (source === undefined) {
        throw new AppError(
          'invalid',
          `${model.name} was trained without an export, so there is no GGUF file to quantize.`,
        );
      }
      if (rank(source.quantization) > rank(type)) {
        throw new AppError(
          'invalid',
          `${type} cannot be made from ${source.quantization}, the best file of ${model.name}: lost precision cannot be restored.`,
        );
      }
      await readGguf(join(model.path, source.path));
      // The new file is smaller than its source.
      await checkRoom(model.path, source.bytes);
      refuseSecond(model);
      await new Promise<void>((resolve, reject) => {
        const done = make(model, source, type, resolve)
          .then(resolve, reject)
          .finally(() => making.delete(model.modelId));
        making.set(model.modelId, { type, done });
      });
      return model;
    },
    release: refuseSecond,
    async close() {
      closing.abort();
      await Promise.all([...making.values()].map(({ done }) => done));
    },
  };
}
