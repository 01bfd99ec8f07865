import * as v from 'valibot';
import { evaluationStates } from '../../../contract/evaluations.ts';
import { exportTaskStates, logKinds, modelActions, pushStates } from '../../../contract/frames.ts';
import { jobStates, phaseNames } from '../../../contract/jobs.ts';
import { artifactKinds, checkpointReasons, engineNames, journalLines } from '../../../contract/journal.ts';
import { exportForms } from '../../../contract/models/export-forms.ts';
import { sweepStates } from '../../../contract/sweeps.ts';
import { trackerNames } from '../../../contract/training/trackers.ts';
import { exportOutcome, fieldSchemas } from '../../../domain/job-record/job.ts';
import { modelDownload } from '../base-models/schemas.ts';
import { identity } from '../identity.ts';
import { importFrameFields } from '../imports/schemas.ts';

/** The frames of `/ws/training`, as sent by the service, read by the page and described in OpenAPI. */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const number = v.nullable(v.number());
const text = v.nullable(v.string());
const percent = v.pipe(v.number(), v.minValue(0), v.maxValue(100));
const state = v.picklist(jobStates);
const phase = v.nullable(v.picklist(phaseNames));

/** Fields of every frame; `seq` increases across restarts of the service. */
const head = { seq: count, time: v.string() };
const ofJob = { ...head, job_id: v.string() };

/** Hardware usage since the previous point; `null` where it could not be read. */
const hardwareTrace = v.strictObject({
  seconds: v.number(),
  gpu_peak_bytes: number,
  gpu_mean_utilization_percent: number,
  gpu_watt_hours: number,
  cpu_mean_percent: number,
  ram_peak_bytes: number,
  cpu_watt_hours: number,
});

const pointFields = fieldSchemas(journalLines.metric);
const evalFields = fieldSchemas(journalLines.eval);
/** Steps shorter than the sampling interval have no hardware usage. */
const measured = { progress: percent, expected_end: v.optional(text), hardware: v.optional(hardwareTrace) };

/** The latest point of a job. */
export const lastPoint = v.strictObject(pointFields);
/** A point of a job's series. */
export const point = v.strictObject({ ...pointFields, ...measured, time: v.string() });
/** An evaluation in a job's series. */
const evalPoint = v.strictObject({ ...evalFields, time: v.string() });
/** A job's series, as `/api/jobs/{job_id}/metrics` gives it. */
export const series = v.strictObject({ train: v.array(point), eval: v.array(evalPoint) });

/** The status of a job. */
const standing = {
  progress: percent,
  phase,
  phase_progress: number,
  detail: text,
  /** When the job is expected to end. */
  expected_end: v.optional(text),
  name: v.string(),
};

export const statusFrame = v.strictObject({
  ...ofJob,
  type: v.literal('status'),
  state,
  ...standing,
  /** It is deleted once it has ended. */
  discarded: v.optional(v.literal(true)),
});
/** A job was deleted. */
const deletedFrame = v.strictObject({
  ...ofJob,
  type: v.literal('status'),
  state: v.literal('deleted'),
  /** It was stopped in order to be deleted. */
  discarded: v.optional(v.literal(true)),
});
const progressFrame = v.strictObject({ ...ofJob, type: v.literal('progress'), ...standing });
const metricsFrame = v.strictObject({
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

/** A job event: a warning, a checkpoint, a sample answer, a resume, what the workers run on, or where a tracker has the run. */
export const logFrame = v.strictObject({
  ...ofJob,
  type: v.literal('log'),
  level: v.picklist(['info', 'warning']),
  kind: v.picklist(logKinds),
  step: v.optional(count),
  message: v.optional(v.string()),
  /** For warnings. */
  code: v.optional(v.string()),
  /** For samples; at step 0, the base model answers. */
  prompt: v.optional(v.string()),
  text: v.optional(v.string()),
  /** The answer that is wanted, where it is known. */
  reference: v.optional(v.string()),
  /** Of a sample: its scores by graders. */
  scores: v.optional(v.record(v.string(), v.nullable(v.number()))),
  /** The quantization of the exported file, where that answers. */
  file: v.optional(v.string()),
  /** For checkpoints. */
  path: v.optional(v.string()),
  reason: v.optional(v.picklist(checkpointReasons)),
  best: v.optional(v.boolean()),
  /** For engines: what a run with several workers trains on; the cluster's nodes with the workers of each. */
  name: v.optional(v.picklist(engineNames)),
  nodes: v.optional(v.nullable(v.record(v.string(), v.nullable(number)))),
  /** For trackers: which one, and the address of the run there, if a browser can open it. */
  tracker: v.optional(v.picklist(trackerNames)),
  url: v.optional(v.string()),
});

/** A file written by a job's export. */
export const exportFrame = v.strictObject({
  ...ofJob,
  type: v.literal('export'),
  kind: v.picklist(artifactKinds),
  path: v.string(),
  bytes: count,
  quantization: text,
});

/** What an export of a kept model makes besides its types. */
const forms = v.array(v.picklist(exportForms));

/** An export of a kept model that is underway. */
export const exportTaskFields = {
  /** The types that it makes. */
  quantizations: v.array(v.string()),
  forms,
  state: v.picklist(['waiting', 'running']),
  phase,
  /** Of the phase, from 0 to 1. */
  progress: number,
  detail: text,
};

/** The progress or the end of an export of a kept model. */
const modelExportFrame = v.strictObject({
  ...head,
  type: v.literal('export'),
  model_id: v.string(),
  id: count,
  quantizations: v.array(v.string()),
  forms,
  state: v.picklist(exportTaskStates),
  phase: v.optional(phase),
  progress: v.optional(number),
  detail: v.optional(text),
  /** The rest is there at its end: why it failed, and what has become of the model's files. */
  error: v.optional(v.string()),
  export: v.optional(exportOutcome),
});

/** A model was added, deleted, or is being pushed to the hub. */
const modelFrame = v.strictObject({
  ...head,
  job_id: v.optional(v.string()),
  type: v.literal('model'),
  action: v.picklist(modelActions),
  model_id: v.string(),
  id: count,
  name: v.string(),
  /** The remaining fields are for pushes. */
  repo_name: v.optional(v.string()),
  state: v.optional(v.picklist(pushStates)),
  fraction: v.optional(number),
  repo_url: v.optional(v.string()),
  message: v.optional(v.string()),
  error: v.optional(v.string()),
});

/** A job or a model got another name, other notes or other tags. */
const identityFrame = v.strictObject({
  ...head,
  type: v.literal('identity'),
  /** The job, or else the model. */
  job_id: v.optional(v.string()),
  model_id: v.optional(v.string()),
  ...identity,
});

/** The progress or a new state of the download of a base model. */
const downloadFrame = v.strictObject({ ...head, type: v.literal('download'), ...modelDownload.entries });

/** The progress or a new state of an import. */
const importFrame = v.strictObject({ ...head, ...importFrameFields });

/** One GPU; `null` where the driver reports no value. */
const gpuSample = v.strictObject({
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

/** A sample of the machine's usage. */
const gpuFrame = v.strictObject({
  ...head,
  type: v.literal('gpu'),
  cpu_percent: number,
  ram_used_bytes: number,
  ram_total_bytes: number,
  package_watts: number,
  gpu_state: v.picklist(['none', 'read', 'late']),
  gpus: v.array(gpuSample),
});

/** The first frame of a connection: the current job and its latest points. */
const snapshotFrame = v.strictObject({
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
      expected_end: text,
      started_at: text,
      last_metric: v.nullable(lastPoint),
    }),
  ),
  metrics: v.array(point),
});

/** The progress of the analysis of a dataset: bytes that were read, or whether lengths are counted. */
const analysisFrame = v.strictObject({
  ...head,
  type: v.literal('analysis'),
  dataset: v.string(),
  what: v.picklist(['duplicates', 'lengths']),
  done: v.number(),
  total: v.number(),
});

/** The progress of a sweep: a trial started or ended, or the sweep did. */
const sweepFrame = v.strictObject({
  ...head,
  type: v.literal('sweep'),
  sweep_id: v.string(),
  state: v.picklist(sweepStates),
  /** How many trials are wanted. */
  trials: v.number(),
  ended: v.number(),
  best_value: v.nullable(v.number()),
});
const deletedSweepFrame = v.strictObject({
  ...head,
  type: v.literal('sweep'),
  sweep_id: v.string(),
  state: v.literal('deleted'),
});

/** The progress or a new state of an evaluation. */
const evaluationFrame = v.strictObject({
  ...head,
  type: v.literal('evaluation'),
  evaluation_id: v.string(),
  state: v.picklist(evaluationStates),
  phase,
  /** Of the phase, from 0 to 1. */
  progress: number,
  detail: text,
});
const deletedEvaluationFrame = v.strictObject({
  ...head,
  type: v.literal('evaluation'),
  evaluation_id: v.string(),
  state: v.literal('deleted'),
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
  modelExportFrame,
  modelFrame,
  identityFrame,
  importFrame,
  downloadFrame,
  gpuFrame,
  analysisFrame,
  sweepFrame,
  deletedSweepFrame,
  evaluationFrame,
  deletedEvaluationFrame,
]);

/** The schemas by their OpenAPI component names. */
export const frameSchemas = {
  SnapshotFrame: snapshotFrame,
  StatusFrame: statusFrame,
  DeletedFrame: deletedFrame,
  ProgressFrame: progressFrame,
  MetricsFrame: metricsFrame,
  EvalFrame: evalFrame,
  LogFrame: logFrame,
  ExportFrame: exportFrame,
  ModelExportFrame: modelExportFrame,
  ModelFrame: modelFrame,
  IdentityFrame: identityFrame,
  ImportFrame: importFrame,
  DownloadFrame: downloadFrame,
  GpuFrame: gpuFrame,
  AnalysisFrame: analysisFrame,
  SweepFrame: sweepFrame,
  DeletedSweepFrame: deletedSweepFrame,
  EvaluationFrame: evaluationFrame,
  DeletedEvaluationFrame: deletedEvaluationFrame,
};

export type Frame = Exclude<v.InferOutput<typeof frame>, v.InferOutput<typeof exportFrame>> | ExportFrame;
export type Point = v.InferOutput<typeof point>;
export type EvalPoint = v.InferOutput<typeof evalPoint>;
export type HardwareTrace = v.InferOutput<typeof hardwareTrace>;
export type Series = v.InferOutput<typeof series>;
export type StatusFrame = v.InferOutput<typeof statusFrame>;
export type EvalFrame = v.InferOutput<typeof evalFrame>;
export type LogFrame = v.InferOutput<typeof logFrame>;
/** Distinguished from a `ModelExportFrame` by having no model yet. */
export type ExportFrame = v.InferOutput<typeof exportFrame> & { readonly model_id?: undefined };
export type ModelExportFrame = v.InferOutput<typeof modelExportFrame>;
export type AnalysisFrame = v.InferOutput<typeof analysisFrame>;
export type SweepFrame = v.InferOutput<typeof sweepFrame> | v.InferOutput<typeof deletedSweepFrame>;
export type EvaluationFrame =
  | v.InferOutput<typeof evaluationFrame>
  | v.InferOutput<typeof deletedEvaluationFrame>;
export type ModelFrame = v.InferOutput<typeof modelFrame>;
export type IdentityFrame = v.InferOutput<typeof identityFrame>;
export type DownloadFrame = v.InferOutput<typeof downloadFrame>;
export type ImportFrame = v.InferOutput<typeof importFrame>;
export type GpuSample = v.InferOutput<typeof gpuSample>;
export type HardwareSample = Omit<v.InferOutput<typeof gpuFrame>, keyof typeof head | 'type'>;
export type SnapshotJob = NonNullable<v.InferOutput<typeof snapshotFrame>['job']>;
