import type { HardwareSample } from '../../hardware/sample.ts';
import { type Sampler, startSampler } from '../../hardware/sampler.ts';
import { createTracer, type Tracer } from '../../hardware/trace.ts';
import type { FrameLog } from '../events/frame-log.ts';

/** Frames per second; drivers rarely refresh their values more often (docs/findings.md, Server). */
const rateHz = 5;

/** Live metrics of the machine, sampled only while a client is connected or a training runs. */
export interface Live {
  setListeners(count: number): void;
  /** Sets the jobs that are being trained. */
  setTraining(ids: readonly number[]): void;
  /** The machine's usage since the last call for this job; `null` if there was no sample. */
  takeTrace(id: number): Record<string, unknown> | null;
  stop(): void;
}

/** @param readGpuNames returns the GPU names in the sampler's order; called whenever sampling starts. */
export function createLive(
  frames: FrameLog,
  logger: { warn(fields: object, text: string): void },
  readGpuNames: () => Promise<readonly string[]>,
): Live {
  let gpuNames: readonly string[] = [];
  let listeners = 0;
  let sampler: Sampler | null = null;
  /** One for each job that is being trained. */
  const tracers = new Map<number, Tracer>();
  const onBatch = (batch: readonly HardwareSample[]) => {
    for (const tracer of tracers.values()) for (const sample of batch) tracer.add(sample);
    if (listeners === 0) return;
    for (const sample of batch) frames.send('gpu', null, present(sample, gpuNames));
  };
  const update = () => {
    const wanted = listeners > 0 || tracers.size > 0;
    if (wanted && sampler === null) {
      sampler = startSampler({ hz: rateHz, onBatch });
      readGpuNames().then(
        (names) => {
          gpuNames = names;
        },
        () => undefined,
      );
      const { reason } = sampler;
      if (reason !== null) logger.warn({ reason }, 'Live hardware metrics are not available');
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
    setTraining(ids) {
      for (const id of tracers.keys()) if (!ids.includes(id)) tracers.delete(id);
      for (const id of ids) if (!tracers.has(id)) tracers.set(id, createTracer());
      update();
    },
    takeTrace(id) {
      const trace = tracers.get(id)?.take();
      if (trace === undefined || trace.samples === 0) return null;
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
      tracers.clear();
      update();
    },
  };
}

function present(sample: HardwareSample, gpuNames: readonly string[]): Record<string, unknown> {
  return {
    cpu_percent: sample.cpuPercent,
    ram_used_bytes: sample.ramUsedBytes,
    ram_total_bytes: sample.ramTotalBytes,
    package_watts: sample.packageWatts,
    gpu_state: sample.gpuState,
    gpus: sample.gpus.map((gpu) => ({
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
