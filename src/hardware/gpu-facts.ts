import type { Addon, AddonState, NativeFailure, NativeGpus } from '../native/addon.ts';
import { hasNvidiaDevice } from './nvidia-device.ts';

/** A GPU or MIG instance. `null` means that the driver reports no value. */
export interface GpuFacts {
  /** Its place in the order that training sees: PyTorch's `cuda:<index>`. */
  readonly index: number;
  /** The physical GPU's number in `nvidia-smi`. */
  readonly nvmlIndex: number | null;
  /** Whether this is a MIG instance. */
  readonly mig: boolean;
  /** Whether it shares the system memory; then the GPU does not report free memory. */
  readonly integrated: boolean | null;
  readonly name: string;
  readonly uuid: string | null;
  readonly totalBytes: number | null;
  readonly freeBytes: number | null;
  readonly usedBytes: number | null;
  /** Such as `9.0`. */
  readonly computeCapability: string | null;
  /** Why the driver cannot reach it any more, if so. */
  readonly lost: string | null;
  readonly processes: readonly { readonly pid: number; readonly usedBytes: number | null }[] | null;
}

export interface GpuSummary {
  readonly gpus: readonly GpuFacts[];
  readonly gpuName: string;
  readonly gpuTotalBytes: number;
  readonly gpuReason: string | null;
  readonly cudaVersion: string | null;
  readonly driverVersion: string | null;
}

const absent: GpuSummary = {
  gpus: [],
  gpuName: 'No GPU',
  gpuTotalBytes: 0,
  gpuReason: null,
  cudaVersion: null,
  driverVersion: null,
};

// One driver call at a time, so that a hanging driver does not accumulate threads.
let pending: Promise<NativeGpus> | null = null;
// A result that arrived after its timeout; otherwise slow drivers would never be read.
let late: { readonly gpus: NativeGpus; readonly atMs: number } | null = null;
const lateMaxAgeMs = 60_000;

/** @throws if no thread can be created. */
function ask(addon: Addon): Promise<NativeGpus> {
  if (pending !== null) return pending;
  let answered = (_gpus: NativeGpus) => {};
  addon.readGpus((gpus) => {
    pending = null;
    answered(gpus);
  });
  pending = new Promise((done) => {
    answered = done;
  });
  return pending;
}

/**
 * Reads the GPUs from the driver within `timeoutMs`. If it takes longer, uses a late result of an earlier call that is at most
 * a minute old.
 */
export async function readGpuFacts(state: AddonState, timeoutMs: number): Promise<GpuSummary> {
  if (state.addon === null) {
    if (await hasNvidiaDevice()) return broken('a GPU is there but cannot be read', state.reason);
    return { ...absent, gpuReason: state.reason };
  }
  let answer: Promise<NativeGpus>;
  try {
    answer = ask(state.addon);
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return broken('the NVIDIA driver cannot be asked', words); // the system gives no thread
  }
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<null>((done) => {
    timer = setTimeout(done, timeoutMs, null);
  });
  const native = await Promise.race([answer, timeout]);
  clearTimeout(timer);
  if (native !== null) return summarize(native, await hasNvidiaDevice());
  void answer.then((gpus) => {
    late = { gpus, atMs: performance.now() };
  });
  if (late !== null && performance.now() - late.atMs <= lateMaxAgeMs) {
    return summarize(late.gpus, await hasNvidiaDevice());
  }
  return broken('the NVIDIA driver does not answer', `It has not answered for ${timeoutMs / 1000} s.`);
}

function broken(what: string, why: string): GpuSummary {
  return { ...absent, gpuName: `GPU unusable: ${what}`, gpuReason: why };
}

/** Describes the results of the two libraries. `onBus`: whether there is an NVIDIA device. */
export function summarize(native: NativeGpus, onBus: boolean | null): GpuSummary {
  const { nvml, cuda } = native;
  const versions = { cudaVersion: native.cudaVersion, driverVersion: native.driverVersion };
  const gpus = native.gpus.map((gpu, index) => ({ index, ...gpu, name: gpu.name ?? 'NVIDIA GPU' }));
  const first = gpus[0];

  if (first !== undefined && native.cudaUsable) {
    const reason = first.lost ?? (nvml === null ? null : `NVML: ${nvml.message}`);
    if (first.lost !== null) {
      return { ...versions, ...named(gpus, `${first.name} (lost: ${first.lost})`, 0), gpuReason: reason };
    }
    return { ...versions, ...named(gpus, first.name, first.totalBytes ?? 0), gpuReason: reason };
  }
  if (first !== undefined) {
    const why = first.lost ?? cudaWords(cuda);
    return { ...versions, ...named(gpus, `${first.name} (unusable: ${why})`, 0), gpuReason: why };
  }
  if (native.installed > 0 && (cuda === null || cuda.code === 'cuda_no_device')) {
    const hidden = process.env.CUDA_VISIBLE_DEVICES;
    const reason =
      hidden === undefined
        ? `The driver knows ${native.installed} GPU(s), but CUDA shows none of them.`
        : `The machine has ${native.installed} GPU(s), but CUDA_VISIBLE_DEVICES="${hidden}" shows none.`;
    return { ...absent, ...versions, gpuReason: reason };
  }
  if (nvml === null) return { ...absent, ...versions, gpuReason: 'The NVIDIA driver reports no device.' };
  if (nvml.code === 'library_missing') {
    if (onBus !== true) return { ...absent, gpuReason: noDriverWords(onBus) };
    return broken(
      'its driver is not installed',
      `An NVIDIA GPU is on the bus, but its driver's library is missing (${nvml.message}).`,
    );
  }
  // Machine images may include the driver's library without a GPU, or empty placeholder files.
  if ((nvml.code === 'nvml_driver_not_loaded' || nvml.code === 'library_unloadable') && onBus === false) {
    return {
      ...absent,
      gpuReason: `There is no NVIDIA GPU; a driver's library is installed (${nvml.message}).`,
    };
  }
  return { ...broken(brokenWords(nvml), nvml.message), ...versions };
}

function named(gpus: readonly GpuFacts[], gpuName: string, gpuTotalBytes: number) {
  return { gpus, gpuName, gpuTotalBytes };
}

function noDriverWords(onBus: boolean | null): string {
  if (process.platform === 'darwin') return 'NVIDIA GPUs are not supported on macOS.';
  return onBus === false ? 'There is no NVIDIA GPU.' : 'No NVIDIA driver is installed.';
}

function cudaWords(cuda: NativeFailure | null): string {
  if (cuda === null) return 'CUDA shows no device';
  if (cuda.code === 'library_missing') return 'the CUDA driver library is missing';
  return `CUDA cannot start: ${cuda.message}`;
}

function brokenWords(nvml: NativeFailure): string {
  switch (nvml.code) {
    case 'nvml_driver_not_loaded':
      return 'the NVIDIA driver is not loaded';
    case 'nvml_version_mismatch':
      return 'the NVIDIA driver and its library have different versions (restart the machine)';
    case 'nvml_gpu_is_lost':
    case 'nvml_reset_required':
      return 'the GPU has fallen off the bus or needs a reset';
    case 'nvml_no_permission':
      return 'no permission to talk to the NVIDIA driver';
    case 'library_unloadable':
      return "the NVIDIA driver's library cannot be loaded";
    default:
      return 'the NVIDIA driver does not work';
  }
}
