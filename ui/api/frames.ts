/** The frames of `/ws/training` and the series of a job, as the service's own schemas type them. */
import type * as wire from '../../src/api/hone/frames/schemas.ts';

export type {
  AnalysisFrame,
  ExportFrame,
  Frame,
  GpuSample,
  HardwareSample,
  ImportFrame,
  LogFrame,
  ModelExportFrame,
  ModelFrame,
  Series,
  SnapshotJob,
  StatusFrame,
} from '../../src/api/hone/frames/schemas.ts';
export type { Event } from '../../src/api/hone/jobs/schemas.ts';

/** Hardware usage over a period; `null` where it could not be read. */
export type HardwareTrace = Pick<
  wire.HardwareTrace,
  'seconds' | 'gpu_peak_bytes' | 'gpu_mean_utilization_percent' | 'gpu_watt_hours' | 'cpu_mean_percent'
>;

/** One point of a run's charts: its step and the available metrics. */
export type Point = Readonly<Pick<wire.Point, 'step'> & Partial<Omit<wire.Point, 'hardware'>>> & {
  readonly hardware?: HardwareTrace | null | undefined;
};

/** One evaluation of a run. */
export type EvalPoint = Readonly<Pick<wire.EvalPoint, 'step'> & Partial<wire.EvalPoint>>;
