import type { GpuSample, HardwareSample } from './sample.ts';

/** The resource usage of a training step. `null` means unknown. */
export interface Trace {
  readonly seconds: number;
  readonly samples: number;
  readonly gpuPeakBytes: number | null;
  readonly gpuMeanUtilizationPercent: number | null;
  readonly gpuWattHours: number | null;
  readonly cpuMeanPercent: number | null;
  readonly ramPeakBytes: number | null;
  /** Of the processor packages. */
  readonly cpuWattHours: number | null;
}

export interface Tracer {
  add(sample: HardwareSample): void;
  /** The usage since the last call. The energy of all traces adds up to that of the run. */
  take(): Trace;
}

const joulesPerWattHour = 3600;

/** Condenses samples into traces; `gpuIndex` is the GPU that training uses. */
export function createTracer(gpuIndex = 0): Tracer {
  let previous: HardwareSample | null = null;
  let counter: number | null = null; // of the last sample that had one: a slow driver leaves samples out
  let samples: HardwareSample[] = [];
  let gpuJoules: number | null = null;
  let cpuJoules: number | null = null;
  let milliseconds = 0;

  return {
    add(sample) {
      if (previous !== null) {
        const elapsedMs = Math.max(0, sample.timeMs - previous.timeMs);
        milliseconds += elapsedMs;
        gpuJoules = sum(gpuJoules, gpuEnergy(counter, sample.gpus[gpuIndex], elapsedMs));
        cpuJoules = sum(cpuJoules, joules(sample.packageWatts, elapsedMs));
      }
      previous = sample;
      counter = sample.gpus[gpuIndex]?.energyJoules ?? counter;
      samples.push(sample);
    },
    take() {
      const gpus = samples.map((sample) => sample.gpus[gpuIndex]).filter((gpu) => gpu !== undefined);
      const trace: Trace = {
        seconds: milliseconds / 1000,
        samples: samples.length,
        gpuPeakBytes: peak(gpus.map((gpu) => gpu.usedBytes)),
        gpuMeanUtilizationPercent: mean(gpus.map((gpu) => gpu.utilizationPercent)),
        gpuWattHours: gpuJoules === null ? null : gpuJoules / joulesPerWattHour,
        cpuMeanPercent: mean(samples.map((sample) => sample.cpuPercent)),
        ramPeakBytes: peak(samples.map((sample) => sample.ramUsedBytes)),
        cpuWattHours: cpuJoules === null ? null : cpuJoules / joulesPerWattHour,
      };
      samples = [];
      gpuJoules = cpuJoules = null;
      milliseconds = 0;
      return trace;
    },
  };
}

/**
 * By the GPU's own counter where it has one, which also has what was used in samples that are missing; its power is
 * for GPUs without, and for when the counter began again (it does when the driver is loaded).
 */
function gpuEnergy(before: number | null, now: GpuSample | undefined, elapsedMs: number): number | null {
  if (now === undefined) return null;
  if (before === null) return joules(now.powerWatts, elapsedMs);
  if (now.energyJoules === null) return null;
  return now.energyJoules >= before ? now.energyJoules - before : joules(now.powerWatts, elapsedMs);
}

function joules(watts: number | null, elapsedMs: number): number | null {
  return watts === null ? null : (watts * elapsedMs) / 1000;
}

function sum(one: number | null, other: number | null): number | null {
  return other === null ? one : (one ?? 0) + other;
}

function known(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}

function peak(values: readonly (number | null)[]): number | null {
  const all = known(values);
  return all.length === 0 ? null : all.reduce((a, b) => Math.max(a, b));
}

function mean(values: readonly (number | null)[]): number | null {
  const all = known(values);
  return all.length === 0 ? null : all.reduce((a, b) => a + b) / all.length;
}
