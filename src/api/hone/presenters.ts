import type { InferOutput } from 'valibot';
import { resumableStates } from '../../contract/jobs.ts';
import type { RowShape } from '../../contract/rows.ts';
import type { AccessKey } from '../../domain/access/access-keys.ts';
import type { Checkpoint } from '../../domain/checkpoints/checkpoints.ts';
import type { Dataset } from '../../domain/datasets/dataset.ts';
import type { ExampleDataset } from '../../domain/datasets/example-datasets.ts';
import type { ImportNote } from '../../domain/datasets/files/import-note.ts';
import type { RowPage } from '../../domain/datasets/rows/row-page.ts';
import type { Consumption } from '../../domain/events/consumption.ts';
import { engineOf } from '../../domain/job-record/engine.ts';
import {
  displayNameOf,
  exportOf,
  type Job,
  jobName,
  lastPointOf,
  messageOf,
  progressOf,
} from '../../domain/job-record/job.ts';
import type { Verdict } from '../../domain/jobs/verdict.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { ModelFile } from '../../domain/models/downloads.ts';
import type { ListedModel, Model } from '../../domain/models/models.ts';
import type { VerifiedFile } from '../../domain/models/verified-files.ts';
import type { Analysis } from '../../domain/training/dataset-analysis.ts';
import type { Plan, RecommendedModel } from '../../domain/training/planner.ts';
import { repeatedRequest } from '../../domain/training/repeated-request.ts';
import type { hardware, Verification } from './schemas.ts';

export function presentJob(job: Job) {
  const failed = job.state === 'failed' || job.state === 'interrupted';
  return {
    job_id: jobName(job.id),
    model_id: job.modelId,
    state: job.state,
    progress: progressOf(job),
    message: messageOf(job),
    error: failed
      ? {
          code: job.errorCode,
          message: job.errorMessage,
          advice: job.errorAdvice,
          evidence: job.errorEvidence,
          exit_code: job.exitCode,
          exit_signal: job.exitSignal,
        }
      : null,
    task: job.task,
    provider: job.provider,
    strategy: job.strategy,
    model_name: job.modelName,
    dataset: job.datasetName,
    created_at: job.createdAt,
    started_at: job.startedAt,
    ended_at: job.endedAt,
    earlier_seconds: job.earlierSeconds,
    phase: job.phase,
    phase_progress: job.phaseProgress,
    detail: job.phaseDetail,
    last_metric: lastPointOf(job),
    metrics: job.resultMetrics,
    verification: job.verification as Verification | null,
    export: exportOf(job),
    resumable: resumableStates.includes(job.state),
    display_name: displayNameOf(job),
    notes: job.notes,
    tags: [...job.tags],
  };
}

export function presentCatalogued(model: ListedModel) {
  return {
    model_id: model.modelId,
    id: model.id,
    name: model.name,
    display_name: model.displayName,
    notes: model.notes,
    tags: [...model.tags],
    base_model: model.baseModel,
    task: model.task,
    strategy: model.strategy,
    dataset: model.datasetName,
    job_id: model.jobId === null ? null : jobName(model.jobId),
    created_at: model.createdAt,
    size_mb: Math.round(model.sizeBytes / 1e4) / 100,
    path: model.path,
  };
}

export function presentJobDetail(
  job: Job,
  consumption: Consumption,
  checkpoints: readonly Checkpoint[],
  facts: { readonly chatTemplate: boolean; readonly trained: boolean },
  verdict: Verdict | null,
) {
  const spec = job.spec as {
    settings: Record<string, unknown>;
    export: { readonly quantizations: readonly string[] } | null;
    dataset?: { readonly shape?: RowShape };
    validation?: { readonly name: string } | null;
  } | null;
  return {
    ...presentJob(job),
    row_shape: spec?.dataset?.shape ?? null,
    validation_dataset: spec?.validation?.name ?? null,
    settings: spec?.settings ?? {},
    engine: engineOf(job),
    request: repeatedRequest(job),
    quantizations: spec?.export?.quantizations ?? [],
    trained: facts.trained,
    chat_template: facts.chatTemplate,
    artifacts: job.artifacts,
    checkpoints: checkpoints.map(({ step, path, createdAt, metrics }) => ({
      step,
      path,
      created_at: createdAt,
      metrics,
    })),
    consumption,
    verdict: verdict && presentVerdict(verdict),
  };
}

const presentVerdict = ({ verified, durationSeconds, loss, metric, reason, prompts }: Verdict) => ({
  verified,
  duration_seconds: durationSeconds,
  loss,
  metric,
  reason,
  prompts: prompts.map((prompt) => ({ ...prompt, checkpoints: [...prompt.checkpoints] })),
});

export function presentPlan(plan: Plan) {
  const { fine, available } = plan;
  return {
    parameters: plan.parameters,
    precision: plan.precision,
    simple_gb: plan.simpleGb,
    memory: fine && {
      weights_bytes: fine.weightsBytes,
      adapter_bytes: fine.adapterBytes,
      optimizer_bytes: fine.optimizerBytes,
      activations_bytes: fine.activationsBytes,
      logits_bytes: fine.logitsBytes,
      runtime_bytes: fine.runtimeBytes,
      total_bytes: fine.totalBytes,
    },
    disk: fine && {
      download_bytes: fine.disk.downloadBytes,
      checkpoints_bytes: fine.disk.checkpointsBytes,
      export_bytes: fine.disk.exportBytes,
      spare_bytes: fine.disk.spareBytes,
      total_bytes: fine.disk.totalBytes,
    },
    steps: plan.steps && {
      ...{ total: plan.steps.total, at_least: plan.steps.isLeast },
      held_out_rows: plan.steps.heldOutRows,
    },
    time: plan.time && {
      total_seconds: Math.round(plan.time.totalSeconds * 10) / 10,
      train_seconds: Math.round(plan.time.trainSeconds * 10) / 10,
      prepare_seconds: Math.round(plan.time.prepareSeconds * 10) / 10,
      export_seconds: Math.round(plan.time.exportSeconds * 10) / 10,
      basis: plan.time.basis,
      rough: plan.time.isRough,
    },
    available: {
      memory_bytes: available.memoryBytes,
      memory_of: available.memoryOf,
      disk_bytes: available.diskBytes,
      other_runs: available.reserved.map(({ name, memoryBytes, diskBytes }) => ({
        job_id: name,
        memory_bytes: Math.round(memoryBytes),
        disk_bytes: Math.round(diskBytes),
      })),
    },
    fits: plan.fits,
    advice: plan.advice,
  };
}

/** A stored dataset without its rows. */
export const presentStored = ({ name, numExamples, sizeBytes, uploadedAt }: Dataset) => ({
  filename: name,
  num_examples: numExamples,
  size_mb: Math.round(sizeBytes / 1e3) / 1e3,
  uploaded_at: uploadedAt,
});

export function presentAnalysis({ shape, lengths, duplicates: found, overlapWith }: Analysis) {
  const pairOf = ({ lines, similarity, texts }: Analysis['duplicates']['pairs'][number]) => ({
    lines: [...lines],
    similarity: Math.round(similarity * 1e4) / 1e4,
    texts: [...texts],
  });
  return {
    rows: found.rows,
    shape,
    lengths: lengths && {
      model: lengths.model,
      max_seq_length: lengths.maxSeqLength,
      sampled_rows: lengths.sampledRows,
      bins: [...lengths.bins],
      median: lengths.median,
      p95: lengths.p95,
      p99: lengths.p99,
      longest: lengths.longest,
      truncated_rows: lengths.truncatedRows,
      learned_share: lengths.learnedShare,
    },
    exact_duplicates: {
      rows: found.exact,
      groups: found.groups.map(({ lines, text }) => ({ lines: [...lines], text })),
    },
    near_duplicates: { rows: found.near, compared_rows: found.comparedRows, pairs: found.pairs.map(pairOf) },
    overlap:
      overlapWith === null
        ? null
        : {
            dataset: overlapWith,
            exact: found.overlapExact,
            near: found.overlapNear,
            examples: [
              ...found.overlapGroups.map(({ lines, text }) => ({
                lines: [...lines],
                similarity: 1,
                texts: [text, text],
              })),
              ...found.overlapPairs.map(pairOf),
            ],
          },
    empty_answers: { rows: found.empty, lines: [...found.emptyLines] },
  };
}

export function presentDatasetDetail(
  dataset: Dataset,
  { rows, cut, lines, next, total }: RowPage,
  facts: { warnings: readonly string[]; convertible: string | null; import: ImportNote | null },
) {
  const { valid, shape, errors, totalErrors } = dataset.validation;
  return {
    ...presentStored(dataset),
    validation: { valid, shape, errors, total_errors: totalErrors },
    ...facts,
    rows,
    cut_rows: cut,
    lines,
    next_from: next,
    total,
  };
}

export function presentExample(example: ExampleDataset) {
  const { name, task, strategy, numExamples, sentence, modelName, settings } = example;
  return { name, task, strategy, num_examples: numExamples, sentence, model_name: modelName, settings };
}

export function presentRecommended(recommended: RecommendedModel) {
  const { model, why, billionParameters, licence, memoryBytes } = recommended;
  return { model, why, parameters_billion: billionParameters, licence, memory_bytes: memoryBytes };
}

export function presentLineage(
  model: Model,
  files: readonly ModelFile[],
  { chatTemplate, verified }: { chatTemplate: boolean; verified: ReadonlyMap<string, VerifiedFile> },
) {
  const kinds = new Map(model.artifacts.map((artifact) => [artifact.path, artifact]));
  return {
    model_id: model.modelId,
    id: model.id,
    name: model.name,
    base_model: model.baseModel,
    task: model.task,
    provider: model.provider,
    strategy: model.strategy,
    created_at: model.createdAt,
    dataset: model.datasetName,
    job_id: model.jobId === null ? null : jobName(model.jobId),
    display_name: model.displayName,
    notes: model.notes,
    tags: [...model.tags],
    settings: model.config,
    metrics: model.metrics as Readonly<Record<string, number | null>>,
    verification: model.verification as Verification | null,
    export: model.export,
    chat_template: chatTemplate,
    files: files.map(({ name, bytes }) => {
      const artifact = kinds.get(name);
      const { kind = null, quantization = null } = artifact ?? {};
      const isVerified = kind === 'gguf' ? (verified.get(quantization ?? '')?.passed ?? null) : null;
      return { name, bytes, kind, quantization, verified: isVerified };
    }),
  };
}

export const presentHardware = ({ facts, profile }: Machine): InferOutput<typeof hardware> => ({
  profile,
  gpus: facts.gpus.map((gpu) => ({
    index: gpu.index,
    nvml_index: gpu.nvmlIndex,
    name: gpu.name,
    uuid: gpu.uuid,
    mig: gpu.mig,
    integrated: gpu.integrated,
    memory_total_bytes: gpu.totalBytes,
    memory_free_bytes: gpu.freeBytes,
    memory_used_bytes: gpu.usedBytes,
    compute_capability: gpu.computeCapability,
    lost: gpu.lost,
    processes: gpu.processes?.map(({ pid, usedBytes }) => ({ pid, memory_used_bytes: usedBytes })) ?? null,
  })),
  gpu_reason: facts.gpuReason,
  driver_version: facts.driverVersion,
  cuda_version: facts.cudaVersion,
  torch_version: facts.torchVersion,
  torch_cuda_version: facts.torchCudaVersion,
  memory_total_bytes: facts.ramTotalBytes,
  memory_available_bytes: facts.ramAvailableBytes,
  disk_free_bytes: facts.diskFreeBytes,
  cpu_model: facts.cpuModel,
  cpu_cores_logical: facts.cpuCoresLogical,
  cpu_cores_physical: facts.cpuCoresPhysical,
  cpu_quota_cores: facts.cpuQuotaCores,
});

export function presentKey({ id, name, scope, createdAt, lastUsedAt }: AccessKey) {
  return { id, name, scope, created_at: createdAt, last_used_at: lastUsedAt };
}
