import type { GpuFrame, HardwareFrame } from './frames.ts';

/** What a stretch of a run (a training step) needed. `null` is unknown. */
export interface Trace {
  readonly seconds: number;
  readonly frames: number;
  readonly gpuPeakBytes: number | null;
  readonly gpuMeanUtilizationPercent: number | null;
  readonly gpuWattHours: number | null;
  readonly cpuMeanPercent: number | null;
  readonly ramPeakBytes: number | null;
  /** Of the processor packages. */
  readonly cpuWattHours: number | null;
}

export interface Tracer {
  add(frame: HardwareFrame): void;
  /** The trace since the last call. The watt-hours of all traces add up to those of the whole run. */
  take(): Trace;
}

const joulesPerWattHour = 3600;

/** Condenses frames into traces; `gpuIndex` is the GPU that training uses. */
export function createTracer(gpuIndex = 0): Tracer {
  let previous: HardwareFrame | null = null;
  let counter: number | null = null; // of the last frame that had one: a slow driver leaves frames out
  let frames: HardwareFrame[] = [];
  let gpuJoules: number | null = null;
  let cpuJoules: number | null = null;
  let milliseconds = 0;

  return {
    add(frame) {
      if (previous !== null) {
        const elapsedMs = Math.max(0, frame.timeMs - previous.timeMs);
        milliseconds += elapsedMs;
        gpuJoules = sum(gpuJoules, gpuEnergy(counter, frame.gpus[gpuIndex], elapsedMs));
        cpuJoules = sum(cpuJoules, joules(frame.packageWatts, elapsedMs));
      }
      previous = frame;
      counter = frame.gpus[gpuIndex]?.energyJoules ?? counter;
      frames.push(frame);
    },
    take() {
      const gpus = frames.map((frame) => frame.gpus[gpuIndex]).filter((gpu) => gpu !== undefined);
      const trace: Trace = {
        seconds: milliseconds / 1000,
        frames: frames.length,
        gpuPeakBytes: peak(gpus.map((gpu) => gpu.usedBytes)),
        gpuMeanUtilizationPercent: mean(gpus.map((gpu) => gpu.utilizationPercent)),
        gpuWattHours: gpuJoules === null ? null : gpuJoules / joulesPerWattHour,
        cpuMeanPercent: mean(frames.map((frame) => frame.cpuPercent)),
        ramPeakBytes: peak(frames.map((frame) => frame.ramUsedBytes)),
        cpuWattHours: cpuJoules === null ? null : cpuJoules / joulesPerWattHour,
      };
      frames = [];
      gpuJoules = cpuJoules = null;
      milliseconds = 0;
      return trace;
    },
  };
}

/**
 * By the GPU's own counter where it has one, which also has what was used in frames that are missing; its power is
 * for GPUs without, and for when the counter began again (it does when the driver is loaded).
 */
function gpuEnergy(before: number | null, now: GpuFrame | undefined, elapsedMs: number): number | null {
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
