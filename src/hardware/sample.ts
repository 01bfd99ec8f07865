/** A sample of one GPU; `null` where the driver reports no value. */
export interface GpuSample {
  /** Its index in training's order. */
  readonly index: number;
  /** Whether the driver can no longer reach it. */
  readonly lost: boolean;
  readonly utilizationPercent: number | null;
  readonly memoryUtilizationPercent: number | null;
  readonly usedBytes: number | null;
  readonly totalBytes: number | null;
  readonly temperatureCelsius: number | null;
  readonly powerWatts: number | null;
  /** Since the driver was loaded. */
  readonly energyJoules: number | null;
  readonly smClockMHz: number | null;
  readonly memoryClockMHz: number | null;
  readonly throttleReasons: readonly ThrottleReason[] | null;
  readonly pcieTxBytesPerSecond: number | null;
  readonly pcieRxBytesPerSecond: number | null;
  readonly processes: readonly { readonly pid: number; readonly usedBytes: number | null }[] | null;
}

/** A sample of the machine's usage. */
export interface HardwareSample {
  readonly timeMs: number;
  /** Usage of the CPUs that this process may use. */
  readonly cpuPercent: number | null;
  readonly ramUsedBytes: number | null;
  readonly ramTotalBytes: number | null;
  /** Total of all CPU packages; `null` if unreadable. */
  readonly packageWatts: number | null;
  /** `late`: the driver has not answered for `gpuLateMs`, and `gpus` is empty. */
  readonly gpuState: 'none' | 'read' | 'late';
  readonly gpuLateMs: number;
  readonly gpus: readonly GpuSample[];
}

/** Why the GPU is throttled: NVML's clock event reasons, lowest bit first. */
const throttleReasonNames = [
  'idle',
  'application_clocks',
  'power_cap',
  'hardware_slowdown',
  'sync_boost',
  'thermal_software',
  'thermal_hardware',
  'power_brake',
  'display_clocks',
  'board_limit',
  'reliability',
] as const;
export type ThrottleReason = (typeof throttleReasonNames)[number];

const gpuStates = ['none', 'read', 'late'] as const;

/**
 * Unpacks a batch of the native sampler, whose layout is that of `native/sampler.cpp`: how many samples were
 * dropped, then sample after sample: its length in numbers, the eight numbers of the machine, and for each GPU
 * fourteen numbers, the last of which counts the pairs (process, bytes) that follow. NaN is unknown; when the count
 * is, no pairs follow.
 */
export function unpackBatch(batch: Float64Array): { dropped: number; samples: HardwareSample[] } {
  const samples: HardwareSample[] = [];
  const at = (index: number) => batch[index] ?? Number.NaN;
  for (let start = 1; start < batch.length; start += at(start)) {
    const gpus: GpuSample[] = [];
    let next = start + 9;
    for (let index = 0; index < at(start + 8); index += 1) {
      const knowsProcesses = !Number.isNaN(at(next + 13));
      const processCount = knowsProcesses ? at(next + 13) : 0;
      const processes: { pid: number; usedBytes: number | null }[] = [];
      for (let i = 0; i < processCount; i += 1) {
        processes.push({ pid: at(next + 14 + 2 * i), usedBytes: known(at(next + 15 + 2 * i)) });
      }
      gpus.push({
        index,
        lost: at(next) === 1,
        utilizationPercent: known(at(next + 1)),
        memoryUtilizationPercent: known(at(next + 2)),
        usedBytes: known(at(next + 3)),
        totalBytes: known(at(next + 4)),
        temperatureCelsius: known(at(next + 5)),
        powerWatts: known(at(next + 6)),
        energyJoules: known(at(next + 7)),
        smClockMHz: known(at(next + 8)),
        memoryClockMHz: known(at(next + 9)),
        throttleReasons: throttleReasons(at(next + 10)),
        pcieTxBytesPerSecond: known(at(next + 11)),
        pcieRxBytesPerSecond: known(at(next + 12)),
        processes: knowsProcesses ? processes : null,
      });
      next += 14 + 2 * processCount;
    }
    samples.push({
      timeMs: at(start + 1),
      cpuPercent: known(at(start + 2)),
      ramUsedBytes: known(at(start + 3)),
      ramTotalBytes: known(at(start + 4)),
      packageWatts: known(at(start + 5)),
      gpuState: gpuStates[at(start + 6)] ?? 'none',
      gpuLateMs: at(start + 7),
      gpus,
    });
  }
  return { dropped: at(0), samples };
}

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function throttleReasons(bits: number): ThrottleReason[] | null {
  if (Number.isNaN(bits)) return null;
  return throttleReasonNames.filter((_, bit) => Math.floor(bits / 2 ** bit) % 2 === 1);
}
