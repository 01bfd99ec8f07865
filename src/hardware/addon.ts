import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { repositoryRoot } from './repository-root.ts';

/** An error of the addon: `code` is one of the strings that the function's documentation names. */
export interface AddonError extends Error {
  readonly code: string;
}

export interface NativeQuantizeRequest {
  readonly llama: string;
  readonly ggmlBase: string;
  readonly input: string;
  readonly output: string;
  readonly type: string;
  readonly threads: number;
  readonly requantize: boolean;
  readonly onProgress: (share: number) => void;
  /** Called once, with one of the two. */
  readonly onEnd: (error: AddonError | null, result: NativeQuantizeResult | null) => void;
}

export interface NativeQuantizeResult {
  readonly bytes: number;
  readonly tensors: number;
  /** Tensors whose shape the type does not fit, stored in a larger type. */
  readonly fallbackTensors: number;
}

/** Something that did not work, as the addon found it. */
export interface NativeFailure {
  readonly code: string;
  readonly message: string;
}

/** What `readGpus` of `native/gpus.h` gives. */
export interface NativeGpus {
  readonly nvml: NativeFailure | null;
  readonly cuda: NativeFailure | null;
  readonly driverVersion: string | null;
  readonly cudaVersion: string | null;
  /** What NVML counts, hidden ones included. */
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

/** Files and limits that the sampler reads this machine's figures from; see `native/host.h`. */
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
  /** 0 samples as fast as it can. */
  readonly intervalMs: number;
  readonly batchMs: number;
  readonly gpus: boolean;
  readonly host: NativeHostSources;
  /** Gets batches as `src/hardware/frames.ts` unpacks them. */
  readonly onBatch: (batch: Float64Array) => void;
}

/** What `native/addon.cpp` registers. Nothing outside this folder sees it. */
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
  /** See `native/aligned-memory.h`. */
  alignedMemory(bytes: number): Uint8Array;
  /** Ends the process at once, without exit handlers: for when a thread is still inside llama.cpp. */
  exitNow(code: number): never;
}

export type AddonState = { readonly addon: Addon } | { readonly addon: null; readonly reason: string };

let state: AddonState | undefined;

/**
 * Loads the native addon once. A build that failed, or a platform without it, is no exception: the answer
 * then has a `reason` to show, and everything that needs no addon goes on.
 *
 * `HONE_NATIVE_BUILD` names another build folder than `build/native`; the sanitizer run of the tests uses it.
 */
export function loadAddon(): AddonState {
  state ??= open();
  return state;
}

function open(): AddonState {
  const root = repositoryRoot();
  const file = join(resolve(root, process.env.HONE_NATIVE_BUILD ?? 'build/native'), 'Release', 'hone.node');
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
