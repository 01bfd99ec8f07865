import type { HardwareFrame } from '../hardware/frames.ts';
import { type Sampler, startSampler } from '../hardware/sampler.ts';
import { createTracer } from '../hardware/trace.ts';
import type { Frames } from './frames.ts';

/** Frames a second; a driver refreshes its own figures hardly more often (findings on NVML). */
const rateHz = 5;

/** Live figures of the machine, sampled only while somebody watches or a training runs. */
export interface Live {
  setListeners(count: number): void;
  setTraining(active: boolean): void;
  /** What the machine did since the last call; `null` when nothing was sampled meanwhile. */
  takeTrace(): Record<string, unknown> | null;
  stop(): void;
}

/** @param readGpuNames the names of the GPUs in the sampler's order; asked each time that sampling begins. */
export function createLive(
  frames: Frames,
  logger: { warn(fields: object, text: string): void },
  readGpuNames: () => Promise<readonly string[]>,
): Live {
  let gpuNames: readonly string[] = [];
  let listeners = 0;
  let training = false;
  let sampler: Sampler | null = null;
  const tracer = createTracer();
  const onBatch = (batch: readonly HardwareFrame[]) => {
    if (training) for (const frame of batch) tracer.add(frame);
    if (listeners === 0) return;
    for (const frame of batch) frames.send('gpu', null, present(frame, gpuNames));
  };
  const update = () => {
    const wanted = listeners > 0 || training;
    if (wanted && sampler === null) {
      sampler = startSampler({ hz: rateHz, onBatch });
      readGpuNames().then(
        (names) => {
          gpuNames = names;
        },
        () => undefined,
      );
      const { reason } = sampler;
      if (reason !== null) logger.warn({ reason }, 'Live hardware figures are not available');
    } else if (!wanted && sampler !== null) {
      sampler.stop();
      sampler = null;
    }
  };
  return {
    setListeners(count) {
      listeners = count;
      update();
    },
    setTraining(active) {
      training = active;
      update();
    },
    takeTrace() {
      const trace = tracer.take();
      if (trace.frames === 0) return null;
      return {
        seconds: trace.seconds,
        gpu_peak_bytes: trace.gpuPeakBytes,
        gpu_mean_utilization_percent: trace.gpuMeanUtilizationPercent,
        gpu_watt_hours: trace.gpuWattHours,
        cpu_mean_percent: trace.cpuMeanPercent,
        ram_peak_bytes: trace.ramPeakBytes,
        cpu_watt_hours: trace.cpuWattHours,
      };
    },
    stop() {
      listeners = 0;
      training = false;
      update();
    },
  };
}

function present(frame: HardwareFrame, gpuNames: readonly string[]): Record<string, unknown> {
  return {
    cpu_percent: frame.cpuPercent,
    ram_used_bytes: frame.ramUsedBytes,
    ram_total_bytes: frame.ramTotalBytes,
    package_watts: frame.packageWatts,
    gpu_state: frame.gpuState,
    gpus: frame.gpus.map((gpu) => ({
      index: gpu.index,
      name: gpuNames[gpu.index] ?? null,
      lost: gpu.lost,
      utilization_percent: gpu.utilizationPercent,
      memory_utilization_percent: gpu.memoryUtilizationPercent,
      memory_used_bytes: gpu.usedBytes,
      memory_total_bytes: gpu.totalBytes,
      temperature_celsius: gpu.temperatureCelsius,
      power_watts: gpu.powerWatts,
      energy_joules: gpu.energyJoules,
      sm_clock_mhz: gpu.smClockMHz,
      memory_clock_mhz: gpu.memoryClockMHz,
      throttle_reasons: gpu.throttleReasons,
      pcie_tx_bytes_per_second: gpu.pcieTxBytesPerSecond,
      pcie_rx_bytes_per_second: gpu.pcieRxBytesPerSecond,
      processes: gpu.processes?.map(({ pid, usedBytes }) => ({ pid, memory_used_bytes: usedBytes })) ?? null,
    })),
  };
}
