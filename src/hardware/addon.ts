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
  readonly onProgress?: (share: number) => void;
}

export interface NativeQuantizeResult {
  readonly bytes: number;
  readonly tensors: number;
  /** Tensors whose shape the type does not fit, stored in a larger type. */
  readonly fallbackTensors: number;
}

/** What `native/addon.cpp` registers. Nothing outside this folder sees it. */
export interface Addon {
  /** The llama.cpp release whose headers the addon was compiled with, such as `v0.5.0`. */
  readonly llamaRelease: string;
  quantize(request: NativeQuantizeRequest): {
    readonly finished: Promise<NativeQuantizeResult>;
    cancel(): void;
  };
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
