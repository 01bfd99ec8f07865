import * as v from 'valibot';
import { phaseNames } from '../../domain/job.ts';
import { jobStates } from '../../domain/job-states.ts';

/** The frames of `/ws/training`: what the service sends, what the page reads, what OpenAPI describes. */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const number = v.nullable(v.number());
const text = v.nullable(v.string());
const percent = v.pipe(v.number(), v.minValue(0), v.maxValue(100));
const state = v.picklist(jobStates);
const phase = v.nullable(v.picklist(phaseNames));

/** What every frame has; `seq` grows from frame to frame, across restarts of the service, too. */
const head = { seq: count, time: v.string() };
const ofJob = { ...head, job_id: v.string() };

/** What the machine did since the point before; `null` where that could not be read. */
export const hardwareTrace = v.strictObject({
  seconds: v.number(),
  gpu_peak_bytes: number,
  gpu_mean_utilization_percent: number,
  gpu_watt_hours: number,
  cpu_mean_percent: number,
  ram_peak_bytes: number,
  cpu_watt_hours: number,
});

const pointFields = {
  step: count,
  total_steps: number,
  epoch: number,
  total_epochs: number,
  loss: number,
  learning_rate: number,
  grad_norm: number,
  tokens: number,
  tokens_per_second: number,
  elapsed_seconds: number,
  eta_seconds: number,
  memory_bytes: number,
  extra: v.record(v.string(), number),
};
const evalFields = { step: count, epoch: number, metrics: v.record(v.string(), number) };
/** A step that was faster than a sample of the machine has no trace of it. */
const measured = { progress: percent, hardware: v.optional(hardwareTrace) };

/** The newest point of a job. */
export const lastPoint = v.strictObject(pointFields);
/** A point of a job's series. */
export const point = v.strictObject({ ...pointFields, ...measured, time: v.string() });
/** An evaluation in a job's series. */
export const evalPoint = v.strictObject({ ...evalFields, time: v.string() });
/** A job's series, as `/api/jobs/{job_id}/metrics` gives it. */
export const series = v.strictObject({ train: v.array(point), eval: v.array(evalPoint) });

/** How a job stands. */
const standing = {
  progress: percent,
  phase,
  phase_progress: number,
  detail: text,
  name: v.string(),
};

export const statusFrame = v.strictObject({ ...ofJob, type: v.literal('status'), state, ...standing });
/** A job is gone, with all that was kept of it. */
export const deletedFrame = v.strictObject({
  ...ofJob,
  type: v.literal('status'),
  state: v.literal('deleted'),
});
export const progressFrame = v.strictObject({ ...ofJob, type: v.literal('progress'), ...standing });
export const metricsFrame = v.strictObject({
  ...ofJob,
  type: v.literal('metrics'),
  kind: v.literal('train'),
  ...pointFields,
  ...measured,
});
export const evalFrame = v.strictObject({
  ...ofJob,
  type: v.literal('metrics'),
  kind: v.literal('eval'),
  ...evalFields,
});

/** Said of a job: a warning, a checkpoint, a sample of what the model writes. */
export const logFrame = v.strictObject({
  ...ofJob,
  type: v.literal('log'),
  level: v.picklist(['info', 'warning']),
  kind: v.picklist(['warning', 'checkpoint', 'sample']),
  step: v.optional(count),
  message: v.optional(v.string()),
  /** Of a warning. */
  code: v.optional(v.string()),
  /** Of a sample. */
  prompt: v.optional(v.string()),
  text: v.optional(v.string()),
  /** Of a checkpoint. */
  path: v.optional(v.string()),
  reason: v.optional(v.picklist(['interval', 'stop', 'end', 'signal'])),
  best: v.optional(v.boolean()),
});

/** A file that the export of a job has made. */
export const exportFrame = v.strictObject({
  ...ofJob,
  type: v.literal('export'),
  kind: v.picklist(['adapter', 'adapter_gguf', 'gguf', 'modelfile', 'template', 'verification']),
  path: v.string(),
  bytes: count,
  quantization: text,
});

/** How the making of a further GGUF type of a model goes. */
export const quantizeFrame = v.strictObject({
  ...head,
  type: v.literal('export'),
  model_id: v.string(),
  id: count,
  kind: v.literal('gguf'),
  path: v.string(),
  quantization: v.string(),
  state: v.picklist(['running', 'completed', 'failed']),
  progress: v.optional(number),
  bytes: v.optional(count),
  error: v.optional(v.string()),
});

/** A model came, went, or is being pushed to the hub. */
export const modelFrame = v.strictObject({
  ...head,
  job_id: v.optional(v.string()),
  type: v.literal('model'),
  action: v.picklist(['created', 'deleted', 'push']),
  model_id: v.string(),
  id: count,
  name: v.string(),
  /** The rest are of a push. */
  repo_name: v.optional(v.string()),
  state: v.optional(v.picklist(['comparing', 'uploading', 'committing', 'done', 'failed', 'cancelled'])),
  fraction: v.optional(number),
  repo_url: v.optional(v.string()),
  message: v.optional(v.string()),
  error: v.optional(v.string()),
});

/** One GPU; `null` where the driver tells nothing. */
export const gpuSample = v.strictObject({
  index: count,
  name: text,
  lost: v.boolean(),
  utilization_percent: number,
  memory_utilization_percent: number,
  memory_used_bytes: number,
  memory_total_bytes: number,
  temperature_celsius: number,
  power_watts: number,
  /** Since the driver was loaded. */
  energy_joules: number,
  sm_clock_mhz: number,
  memory_clock_mhz: number,
  throttle_reasons: v.nullable(v.array(v.string())),
  pcie_tx_bytes_per_second: number,
  pcie_rx_bytes_per_second: number,
  processes: v.nullable(v.array(v.strictObject({ pid: count, memory_used_bytes: number }))),
});

/** The machine at one moment. */
export const gpuFrame = v.strictObject({
  ...head,
  type: v.literal('gpu'),
  cpu_percent: number,
  ram_used_bytes: number,
  ram_total_bytes: number,
  package_watts: number,
  gpu_state: v.picklist(['none', 'read', 'late']),
  gpus: v.array(gpuSample),
});

/** What a socket is told first: the job that status answers tell of, and its newest points. */
export const snapshotFrame = v.strictObject({
  ...head,
  job_id: v.optional(v.string()),
  type: v.literal('snapshot'),
  state: v.picklist(['idle', ...jobStates]),
  job: v.nullable(
    v.strictObject({
      state,
      progress: percent,
      message: v.string(),
      error: text,
      phase,
      phase_progress: number,
      detail: text,
      started_at: text,
      last_metric: v.nullable(lastPoint),
    }),
  ),
  metrics: v.array(point),
});

export const frame = v.union([
  snapshotFrame,
  statusFrame,
  deletedFrame,
  progressFrame,
  metricsFrame,
  evalFrame,
  logFrame,
  exportFrame,
  quantizeFrame,
  modelFrame,
  gpuFrame,
]);

/** The schemas under the names that they have in the OpenAPI document. */
export const frameSchemas = {
  SnapshotFrame: snapshotFrame,
  StatusFrame: statusFrame,
  DeletedFrame: deletedFrame,
  ProgressFrame: progressFrame,
  MetricsFrame: metricsFrame,
  EvalFrame: evalFrame,
  LogFrame: logFrame,
  ExportFrame: exportFrame,
  QuantizeFrame: quantizeFrame,
  ModelFrame: modelFrame,
  GpuFrame: gpuFrame,
};

export type Frame = Exclude<v.InferOutput<typeof frame>, v.InferOutput<typeof exportFrame>> | ExportFrame;
export type Point = v.InferOutput<typeof point>;
export type EvalPoint = v.InferOutput<typeof evalPoint>;
export type HardwareTrace = v.InferOutput<typeof hardwareTrace>;
export type Series = v.InferOutput<typeof series>;
export type StatusFrame = v.InferOutput<typeof statusFrame>;
export type LogFrame = v.InferOutput<typeof logFrame>;
/** Told from a `QuantizeFrame` by having no model yet. */
export type ExportFrame = v.InferOutput<typeof exportFrame> & { readonly model_id?: undefined };
export type QuantizeFrame = v.InferOutput<typeof quantizeFrame>;
export type ModelFrame = v.InferOutput<typeof modelFrame>;
export type GpuSample = v.InferOutput<typeof gpuSample>;
export type HardwareSample = Omit<v.InferOutput<typeof gpuFrame>, keyof typeof head | 'type'>;
export type SnapshotJob = NonNullable<v.InferOutput<typeof snapshotFrame>['job']>;
