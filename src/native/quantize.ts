import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { AppError, asAppError } from '../errors.ts';
import { type Addon, type AddonError, loadAddon, type NativeQuantizeRequest } from './addon.ts';
import { findEngineLibrary } from './engine-library.ts';

export interface QuantizeOptions {
  /** Number of threads; defaults to the number of logical CPUs. */
  readonly threads?: number;
  /** Whether the input may already be quantized, which loses slightly more precision than starting from F16. */
  readonly requantize?: boolean;
  /** The path of the importance matrix of the model's own rows (`native/importance.h`); none without it. */
  readonly importance?: string | null;
  /** Called with the fraction (0 to 1) of the input's bytes processed so far. */
  readonly onProgress?: (share: number) => void;
  readonly signal?: AbortSignal;
}

export interface QuantizeResult {
  readonly bytes: number;
  readonly tensors: number;
  /** Tensors whose shape does not fit the type; they are stored in a larger type. */
  readonly fallbackTensors: number;
}

/** The machine-readable cause of a failure; see `quantize`. */
export function quantizeErrorCode(error: unknown): string {
  const code = (error as { details?: { code?: unknown } } | null)?.details?.code;
  return typeof code === 'string' ? code : 'internal';
}

/**
 * Quantizes the GGUF file `input` to `output` with the engine's own libllama. The output is either complete or absent:
 * it is written to a temporary file, synced and renamed. The work runs on a separate thread.
 *
 * @throws AppError whose `details.code` is one of `addon_missing`, `engine_missing`, `engine_mismatch`,
 *   `unsupported_type`, `bad_model`, `bad_importance`, `not_found`, `disk_full`, `file_too_large`, `write_failed`,
 *   `cancelled`, `no_thread`, `internal`
 */
export async function quantize(
  input: string,
  output: string,
  type: string,
  options: QuantizeOptions = {},
): Promise<QuantizeResult> {
  const state = loadAddon();
  if (state.addon === null) throw failure('unavailable', 'addon_missing', state.reason);
  const engine = engineOf(state.addon.llamaRelease);
  await stat(input).catch((cause: NodeJS.ErrnoException) => {
    throw failure('not_found', 'not_found', `There is no file ${input} to quantize (${cause.code}).`, cause);
  });
  if (options.signal?.aborted) throw failure('conflict', 'cancelled', 'Quantization was cancelled.');

  const aside = `${output}.${randomBytes(6).toString('hex')}.partial`;
  // The temporary file is deleted however this process ends.
  const removeAside = () => rmSync(aside, { force: true });
  process.once('exit', removeAside);
  try {
    const result = await run(state.addon, options, {
      llama: engine.llama,
      ggmlBase: engine.ggmlBase,
      input,
      output: aside,
      type,
      threads: options.threads ?? availableParallelism(),
      requantize: options.requantize ?? false,
      importance: options.importance ?? null,
    });
    await sync(aside);
    await rename(aside, output);
    await sync(dirname(output));
    options.onProgress?.(1);
    return result;
  } catch (error) {
    throw asQuantizeError(error);
  } finally {
    process.off('exit', removeAside);
    await rm(aside, { force: true });
  }
}

/** One call of the addon as a promise; the signal cancels it. */
function run(
  addon: Addon,
  { signal, onProgress = () => {} }: QuantizeOptions,
  request: Omit<NativeQuantizeRequest, 'onProgress' | 'onEnd'>,
): Promise<QuantizeResult> {
  return new Promise((resolve, reject) => {
    const native = addon.quantize({
      ...request,
      onProgress,
      onEnd: (error, result) => {
        signal?.removeEventListener('abort', native.cancel);
        if (result === null) reject(error);
        else resolve(result);
      },
    });
    signal?.addEventListener('abort', native.cancel);
  });
}

function engineOf(compiledFor: string) {
  let engine: ReturnType<typeof findEngineLibrary>;
  try {
    engine = findEngineLibrary();
  } catch (error) {
    throw failure('unavailable', 'engine_missing', asAppError(error).message, error);
  }
  // The parameters are a C structure whose fields change between releases, so the versions must match exactly.
  if (engine.release !== compiledFor) {
    throw failure(
      'unavailable',
      'engine_mismatch',
      `The addon was built for llama.cpp ${compiledFor}, and ${engine.llama} is ${engine.release}. Remove build/native and run \`node setup.mjs\`.`,
    );
  }
  return engine;
}

/** Syncs a file's bytes, or a folder's entries, to disk. Windows cannot open a folder. */
async function sync(path: string): Promise<void> {
  if (process.platform === 'win32' && (await stat(path)).isDirectory()) return;
  const file = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EISDIR') return open(path, 'r');
    throw error;
  });
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

const kinds: Record<string, AppError['kind']> = {
  unsupported_type: 'invalid',
  bad_model: 'invalid',
  bad_importance: 'invalid',
  cancelled: 'conflict',
  disk_full: 'disk_full',
  file_too_large: 'disk_full',
  library_missing: 'unavailable',
  library_unloadable: 'unavailable',
  addon_missing: 'unavailable',
  engine_missing: 'unavailable',
  engine_mismatch: 'unavailable',
  not_found: 'not_found',
  no_thread: 'unavailable',
  crashed: 'unavailable',
  hung: 'unavailable',
};

function asQuantizeError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const thrown = asAppError(error);
  if (thrown.kind === 'disk_full') return failure('disk_full', 'disk_full', thrown.message, error);
  const code = (error as Partial<AddonError> | null)?.code ?? 'internal';
  const publicCode = code.startsWith('library_') ? 'engine_missing' : code;
  return failure(kinds[code] ?? 'internal', publicCode, thrown.message, error);
}

function failure(kind: AppError['kind'], code: string, message: string, cause?: unknown): AppError {
  return new AppError(kind, message, { cause, details: { code } });
}

/** The error of a quantization in another process, which reported its code and message. */
export const quantizeFailure = (code: string, message: string, cause?: unknown): AppError =>
  failure(kinds[code] ?? 'internal', code, message, cause);
