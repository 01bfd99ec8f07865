import { join } from 'node:path';
import { loadAddon, type NativeHostSources } from '../native/addon.ts';
import { readContainerLimits, readProcessors } from './container-limits.ts';
import { type HardwareSample, unpackBatch } from './sample.ts';
import { listSystemFolder, readSystemFile } from './system-files.ts';

export interface SamplerOptions {
  /** Samples per second, 0.1 to 100; 5 when absent. NVML itself refreshes at most about six times a second. */
  readonly hz?: number;
  /** Batch interval in milliseconds; every sample if absent. */
  readonly batchMs?: number;
  readonly onBatch: (samples: readonly HardwareSample[], dropped: number) => void;
}

export interface Sampler {
  /** Why there are no samples (no addon, or no thread); `null` while sampling. */
  readonly reason: string | null;
  /** Stops sampling at once, without waiting for the driver. */
  stop(): void;
}

/**
 * Starts to sample the machine on threads of the addon; several may run at once. It does not keep the
 * process alive. Where it cannot sample, `reason` says why.
 *
 * @throws RangeError for a rate out of bounds
 */
export function startSampler(options: SamplerOptions): Sampler {
  const hz = options.hz ?? 5;
  if (!(hz >= 0.1 && hz <= 100)) throw new RangeError(`hz must be between 0.1 and 100, not ${hz}`);
  const state = loadAddon();
  if (state.addon === null) return { reason: state.reason, stop: () => {} };
  const intervalMs = Math.round(1000 / hz);
  const host = hostSources();
  try {
    const native = state.addon.startSampler({
      intervalMs,
      batchMs: options.batchMs ?? 0,
      gpus: true,
      host,
      onBatch: (batch) => {
        const { samples, dropped } = unpackBatch(batch);
        options.onBatch(samples, dropped);
      },
    });
    return { reason: null, stop: () => native.stop() };
  } catch (error) {
    return { reason: `The sampler cannot start: ${wordsOf(error)}`, stop: () => {} };
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The files from which the addon reads usage, of the machine or container. */
export function hostSources(root = '/'): NativeHostSources {
  if (process.platform !== 'linux') return {};
  const limits = readContainerLimits(root);
  const energy = energyCounters(join(root, 'sys/class/powercap'));
  return {
    procStat: join(root, 'proc/stat'),
    meminfo: join(root, 'proc/meminfo'),
    cpus: readProcessors(root)?.cpus ?? [],
    quotaCores: limits.cpuUsageFile === null ? 0 : (limits.quotaCores ?? 0),
    cgroupCpu: limits.cpuUsageFile ?? '',
    memoryLimitBytes: limits.memoryLimitBytes ?? 0,
    cgroupMemory: limits.memoryUsageFile ?? '',
    cgroupMemoryStat: limits.memoryStatFile ?? '',
    energy: energy.map((counter) => counter.file),
    energyRangeMicrojoules: energy.map((counter) => counter.range),
  };
}

/** RAPL counters of whole packages (`intel-rapl:0`, not its parts `intel-rapl:0:1`) that we may read. */
function energyCounters(folder: string): { file: string; range: number }[] {
  return listSystemFolder(folder).flatMap((name) => {
    const file = join(folder, name, 'energy_uj');
    // Since 2020, only root can read it; otherwise the value is unknown.
    if (!/^intel-rapl:\d+$/.test(name) || readSystemFile(file) === null) return [];
    const range = readSystemFile(join(folder, name, 'max_energy_range_uj'));
    return range === null ? [] : [{ file, range: Number(range) }];
  });
}
