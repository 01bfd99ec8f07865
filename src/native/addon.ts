import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { repositoryRoot } from './repository-root.ts';

/** An error of the addon: `code` is one of the strings documented for the function. */
export interface AddonError extends Error {
  readonly code: string;
}

export interface NativeQuantizeRequest {
  readonly llama: string;
  readonly ggmlBase: string;
  readonly input: string;
  readonly output: string;
  readonly type: string;
  /** The path of an importance matrix (`native/importance.h`), or null. */
  readonly importance: string | null;
  readonly threads: number;
  readonly requantize: boolean;
  readonly onProgress: (share: number) => void;
  /** Called exactly once, with an error or a result. */
  readonly onEnd: (error: AddonError | null, result: NativeQuantizeResult | null) => void;
}

export interface NativeQuantizeResult {
  readonly bytes: number;
  readonly tensors: number;
  /** Tensors whose shape does not fit the type; they are stored in a larger type. */
  readonly fallbackTensors: number;
}

/** A failure reported by the addon. */
export interface NativeFailure {
  readonly code: string;
  readonly message: string;
}

/** The result of `readGpus` in `native/gpus.h`. */
export interface NativeGpus {
  readonly nvml: NativeFailure | null;
  readonly cuda: NativeFailure | null;
  readonly driverVersion: string | null;
  readonly cudaVersion: string | null;
  /** The number of GPUs that NVML reports, including hidden ones. */
  readonly installed: number;
  readonly cudaUsable: boolean;
  readonly gpus: readonly {
    readonly nvmlIndex: number | null;
    readonly mig: boolean;
    readonly integrated: boolean | null;
    readonly name: string | null;
    readonly uuid: string | null;
    readonly totalBytes: number | null;
    readonly freeBytes: number | null;
    readonly usedBytes: number | null;
    readonly computeCapability: string | null;
    readonly lost: string | null;
    readonly processes: readonly { readonly pid: number; readonly usedBytes: number | null }[] | null;
  }[];
}

/** The files and limits from which the sampler reads host metrics; see `native/host.h`. */
export interface NativeHostSources {
  readonly procStat?: string;
  readonly cpus?: readonly number[];
  readonly cgroupCpu?: string;
  readonly quotaCores?: number;
  readonly meminfo?: string;
  readonly memoryLimitBytes?: number;
  readonly cgroupMemory?: string;
  readonly cgroupMemoryStat?: string;
  readonly energy?: readonly string[];
  readonly energyRangeMicrojoules?: readonly number[];
}

export interface NativeSamplerOptions {
  /** 0 samples as fast as possible. */
  readonly intervalMs: number;
  readonly batchMs: number;
  readonly gpus: boolean;
  readonly host: NativeHostSources;
  /** Receives batches in the format that `src/hardware/sample.ts` unpacks. */
  readonly onBatch: (batch: Float64Array) => void;
}

/** Rows that are equal or nearly so: their lines, from 1, with the beginning of their text. */
export interface NativeDuplicateGroup {
  readonly lines: readonly number[];
  readonly text: string;
}
export interface NativeDuplicatePair {
  readonly lines: readonly [number, number];
  readonly similarity: number;
  readonly texts: readonly [string, string];
}

/** What `native/duplicates.h` finds. Numbers of rows count those that repeat an earlier one; the lists are examples. */
export interface NativeDuplicates {
  readonly rows: number;
  /** The first rows, which were compared for near duplicates. */
  readonly comparedRows: number;
  readonly exact: number;
  readonly near: number;
  readonly empty: number;
  /** Rows with a text that begins or ends with white space. */
  readonly padded: number;
  readonly overlapExact: number;
  readonly overlapNear: number;
  readonly groups: readonly NativeDuplicateGroup[];
  readonly pairs: readonly NativeDuplicatePair[];
  /** Each with a line of the first file and one of the other. */
  readonly overlapGroups: readonly NativeDuplicateGroup[];
  readonly overlapPairs: readonly NativeDuplicatePair[];
  readonly emptyLines: readonly number[];
  readonly paddedLines: readonly number[];
}

/** The functions that `native/addon.cpp` exports. Only this folder and `src/hardware` call them. */
export interface Addon {
  /** The llama.cpp release whose headers the addon was compiled with, such as `v0.5.0`. */
  readonly llamaRelease: string;
  quantize(request: NativeQuantizeRequest): { cancel(): void };
  readGpus(onAnswer: (gpus: NativeGpus) => void): void;
  startSampler(options: NativeSamplerOptions): { stop(): void };
  /** See `native/rows.h`. */
  scanRows(
    bytes: Uint8Array,
    from: number,
    to: number,
    fields: readonly string[],
  ): { readonly rows: number; readonly offset: number };
  /** See `native/duplicates.h`. */
  findDuplicates(request: {
    readonly path: string;
    /** Empty for none. */
    readonly validation: string;
    readonly fields: readonly string[];
    readonly answers: readonly string[];
    readonly onProgress: (done: number, total: number) => void;
    /** Called exactly once, with an error or a result. */
    readonly onEnd: (error: AddonError | null, found: NativeDuplicates | null) => void;
  }): { cancel(): void };
  /** See `native/aligned-memory.h`. */
  alignedMemory(bytes: number): Uint8Array;
  /** Ends the process immediately, without exit handlers, for when a thread is still inside llama.cpp. */
  exitNow(code: number): never;
}

export type AddonState = { readonly addon: Addon } | { readonly addon: null; readonly reason: string };

let state: AddonState | undefined;

/**
 * The folder of what is built from `native/`. `HONE_NATIVE_BUILD` names a build folder other than `build/native`; the tests
 * with sanitizers use it.
 */
export const releaseDir = (): string =>
  join(resolve(repositoryRoot(), process.env.HONE_NATIVE_BUILD ?? 'build/native'), 'Release');

/**
 * Loads the native addon once. A failed build, or a platform without the addon, is not an exception: the result then
 * has a `reason` to show, and everything that does not need the addon works.
 */
export function loadAddon(): AddonState {
  state ??= open();
  return state;
}

function open(): AddonState {
  const file = join(releaseDir(), 'hone.node');
  if (!existsSync(file)) {
    return {
      addon: null,
      reason: `The native addon is not built (${file} is missing). Run \`node setup.mjs\`, which builds it and shows why it cannot.`,
    };
  }
  try {
    return { addon: createRequire(import.meta.url)(file) as Addon };
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return {
      addon: null,
      reason: `The native addon cannot be loaded (${words}). Remove build/native and run \`node setup.mjs\`.`,
    };
  }
}
