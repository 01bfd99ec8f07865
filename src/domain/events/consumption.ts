import type { Point } from './series.ts';

/** A run's total resource usage; `null` where it could not be read. */
export interface Consumption {
  readonly gpu_kilowatt_hours: number | null;
  /** Energy of the CPU packages. */
  readonly cpu_kilowatt_hours: number | null;
  readonly gpu_peak_bytes: number | null;
  readonly ram_peak_bytes: number | null;
  readonly gpu_mean_utilization_percent: number | null;
  readonly cpu_mean_percent: number | null;
}

/** Accumulates the hardware usage of a run's steps. */
export interface Tally {
  add(point: Point): void;
  /** Means are weighted by the duration of steps. */
  consumption(): Consumption;
}

/** A statistic over many steps. */
interface Figure {
  count: number;
  sum: number;
  peak: number;
  weighted: number;
  seconds: number;
}

export function createTally(): Tally {
  const figures = new Map<string, Figure>();
  const figure = <T>(name: string, of: (figure: Figure) => T): T | null => {
    const found = figures.get(name);
    return found === undefined ? null : of(found);
  };
  const kilo = ({ sum }: Figure) => sum / 1000;
  const peak = ({ peak: most }: Figure) => most;
  const mean = ({ count, sum, weighted, seconds }: Figure) =>
    seconds === 0 ? sum / count : weighted / seconds;
  return {
    add(point) {
      const trace = point.hardware as Readonly<Record<string, number | null>> | undefined;
      if (trace === undefined) return;
      const seconds = trace.seconds ?? 0;
      for (const [name, value] of Object.entries(trace)) {
        if (typeof value !== 'number' || name === 'seconds') continue;
        const found = figures.get(name) ?? { count: 0, sum: 0, peak: 0, weighted: 0, seconds: 0 };
        found.count += 1;
        found.sum += value;
        found.peak = Math.max(found.peak, value);
        found.weighted += value * seconds;
        found.seconds += seconds;
        figures.set(name, found);
      }
    },
    consumption: () => ({
      gpu_kilowatt_hours: figure('gpu_watt_hours', kilo),
      cpu_kilowatt_hours: figure('cpu_watt_hours', kilo),
      gpu_peak_bytes: figure('gpu_peak_bytes', peak),
      ram_peak_bytes: figure('ram_peak_bytes', peak),
      gpu_mean_utilization_percent: figure('gpu_mean_utilization_percent', mean),
      cpu_mean_percent: figure('cpu_mean_percent', mean),
    }),
  };
}
