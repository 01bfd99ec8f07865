import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { loadAddon } from '../native/addon.ts';
import { repositoryRoot } from '../native/repository-root.ts';
import { type ContainerLimits, readContainerLimits, readProcessors } from './container-limits.ts';
import { type GpuFacts, readGpuFacts } from './gpu-facts.ts';
import { readSystemFile } from './system-files.ts';
import { readTorchVersion } from './torch-version.ts';

export type { GpuFacts } from './gpu-facts.ts';

/** Hardware facts, limited to the container. `null` means unknown; nothing is guessed. */
export interface HardwareFacts {
  /** The GPUs visible to training, in its order (respects `CUDA_VISIBLE_DEVICES` and MIG). */
  readonly gpus: readonly GpuFacts[];
  /** The name of the training GPU, "No GPU", or what is wrong with it. */
  readonly gpuName: string;
  /** Memory of the training GPU; 0 if there is none. */
  readonly gpuTotalBytes: number;
  /** Why training cannot use a GPU, or why a value is missing. */
  readonly gpuReason: string | null;
  readonly ramTotalBytes: number;
  readonly ramAvailableBytes: number;
  /** Free space of the data directory's file system, for this user. */
  readonly diskFreeBytes: number | null;
  readonly cpuCoresLogical: number;
  readonly cpuCoresPhysical: number | null;
  /** The container's CPU limit in cores; may be a fraction. */
  readonly cpuQuotaCores: number | null;
  readonly cpuModel: string | null;
  readonly cudaVersion: string | null;
  readonly driverVersion: string | null;
  readonly torchVersion: string | null;
  /** The CUDA that the installed PyTorch was built for; `null` for its CPU build. */
  readonly torchCudaVersion: string | null;
  /** Why the native addon is missing; `null` when it works. */
  readonly addonReason: string | null;
}

export interface FactsOptions {
  readonly dataDir: string;
  /** The trainer's Python environment; `trainer/.venv` of this repository when absent. */
  readonly environmentDir?: string;
  /** How long to wait for the GPU driver, which continues in its own thread; a later call gets the result. */
  readonly gpuTimeoutMs?: number;
}

/** Reads the hardware facts. Never rejects and never blocks the event loop. */
export async function readFacts(options: FactsOptions): Promise<HardwareFacts> {
  const environmentDir = options.environmentDir ?? join(repositoryRoot(), 'trainer', '.venv');
  const state = loadAddon();
  const limits = readContainerLimits();
  const processors = readProcessors();
  const [gpu, torch, diskFreeBytes, memory] = await Promise.all([
    readGpuFacts(state, options.gpuTimeoutMs ?? 5000),
    readTorchVersion(environmentDir),
    freeBytesOf(options.dataDir),
    systemMemory(),
  ]);
  const usable = processors?.cpus.length || availableParallelism();
  const cpuCoresLogical =
    limits.quotaCores === null ? usable : Math.min(usable, Math.max(1, Math.ceil(limits.quotaCores)));
  const physical = processors?.physicalCores ?? (await physicalCores());
  const ramTotalBytes = Math.min(totalmem(), limits.memoryLimitBytes ?? Infinity);
  return {
    ...gpu,
    ramTotalBytes,
    ramAvailableBytes: Math.min(ramTotalBytes, memory, memoryLeft(limits)),
    diskFreeBytes,
    cpuCoresLogical,
    cpuCoresPhysical: physical === null ? null : Math.min(physical, cpuCoresLogical),
    cpuQuotaCores: limits.quotaCores,
    cpuModel: cpus()[0]?.model.trim() || null,
    torchVersion: torch?.version ?? null,
    torchCudaVersion: torch?.cuda ?? null,
    addonReason: state.addon === null ? state.reason : null,
  };
}

/** Memory that programs can still take, in bytes, also within the limits of a container. */
export async function availableMemory(): Promise<number> {
  return Math.min(totalmem(), await systemMemory(), memoryLeft(readContainerLimits()));
}

/** Available memory, including Linux's file cache, which `freemem` excludes. */
async function systemMemory(): Promise<number> {
  if (process.platform === 'linux') {
    const meminfo = readSystemFile('/proc/meminfo') ?? '';
    const kibibytes = /^MemAvailable:\s*(\d+)/m.exec(meminfo)?.[1];
    if (kibibytes !== undefined) return Number(kibibytes) * 1024;
  }
  if (process.platform === 'darwin') {
    const { mem } = await import('systeminformation');
    return (await mem()).available;
  }
  return freemem();
}

/** Memory left within the container's limit; infinite without one. */
function memoryLeft(limits: ContainerLimits): number {
  if (limits.memoryLimitBytes === null || limits.memoryUsageFile === null) return Infinity;
  const used = Number(readSystemFile(limits.memoryUsageFile) ?? Number.NaN);
  if (!Number.isFinite(used)) return limits.memoryLimitBytes;
  const stat = readSystemFile(limits.memoryStatFile ?? '') ?? '';
  // The kernel reclaims cached file pages before it refuses memory.
  const cached = /^total_inactive_file (\d+)/m.exec(stat) ?? /^inactive_file (\d+)/m.exec(stat);
  return Math.max(0, limits.memoryLimitBytes - Math.max(0, used - Number(cached?.[1] ?? 0)));
}

async function physicalCores(): Promise<number | null> {
  const { cpu } = await import('systeminformation');
  return (await cpu()).physicalCores || null;
}

/** For the folder or its nearest existing parent. */
async function freeBytesOf(folder: string): Promise<number | null> {
  for (let existing = resolve(folder); ; existing = dirname(existing)) {
    const status = await statfs(existing).catch((error: NodeJS.ErrnoException) => error);
    if ('bavail' in status) return status.bavail * status.bsize;
    if (status.code !== 'ENOENT' || dirname(existing) === existing) return null;
  }
}
