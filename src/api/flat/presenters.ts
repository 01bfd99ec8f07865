import type { InferOutput } from 'valibot';
import type { JobState } from '../../contract/jobs.ts';
import type { Dataset } from '../../domain/datasets/dataset.ts';
import { sizeWarnings } from '../../domain/datasets/size-guidance.ts';
import { errorOf, type Job, messageOf, progressOf } from '../../domain/job-record/job.ts';
import type { Model } from '../../domain/models/models.ts';
import type { status } from './schemas.ts';

type Status = InferOutput<typeof status>;

const bytesPerMb = 1e6;
const megabytes = (bytes: number) => Math.round((bytes / bytesPerMb) * 1000) / 1000;

/** Job states as `/api/training_status` names them (docs/api.md, Job states). */
const statuses: Readonly<Record<JobState, Status['status']>> = {
  queued: 'training',
  starting: 'training',
  running: 'training',
  stopping: 'training',
  completed: 'completed',
  failed: 'error',
  interrupted: 'error',
  stopped: 'stopped',
};

export function presentStatus(job: Job | null): Status {
  const metric = job?.lastMetric ?? null;
  const whole = (value: number | null | undefined) => (value == null ? null : Math.ceil(value));
  return {
    status: job === null ? 'idle' : statuses[job.state],
    progress: job === null ? 0 : progressOf(job),
    current_epoch: whole(metric?.epoch),
    total_epochs: whole(metric?.total_epochs),
    current_step: metric?.step ?? null,
    total_steps: metric?.total_steps ?? null,
    loss: metric?.loss ?? null,
    learning_rate: metric?.learning_rate ?? null,
    message: job === null ? 'No training is running' : messageOf(job),
    error: job === null ? null : errorOf(job),
  };
}

export function presentListed(model: Model) {
  return {
    id: model.id,
    name: model.name,
    base_model: model.baseModel,
    task: model.task,
    created_at: model.createdAt,
    size_mb: megabytes(model.sizeBytes),
  };
}

export function presentDetailed(model: Model) {
  const config = model.config as Readonly<Record<string, number | null | undefined>>;
  return {
    ...presentListed(model),
    provider: model.provider,
    strategy: model.strategy,
    training_params: {
      num_epochs: config.num_train_epochs ?? null,
      batch_size: config.per_device_train_batch_size ?? null,
      learning_rate: config.learning_rate ?? null,
    },
    metrics: {
      final_loss: null,
      perplexity: null,
      ...(model.metrics as Readonly<Record<string, number | null>>),
    },
  };
}

export function presentUpload(dataset: Dataset) {
  const { valid, errors, totalErrors, shape } = dataset.validation;
  return {
    status: 'uploaded',
    filename: dataset.name,
    num_examples: dataset.numExamples,
    validation: {
      valid,
      errors: errors.map((error) => error.message),
      total_errors: totalErrors,
      shape,
      details: errors,
      warnings: sizeWarnings(dataset.numExamples, null),
    },
  };
}

export function presentDataset(dataset: Dataset) {
  return {
    filename: dataset.name,
    num_examples: dataset.numExamples,
    size_mb: megabytes(dataset.sizeBytes),
    uploaded_at: dataset.uploadedAt,
    valid: dataset.validation.valid,
    shape: dataset.validation.shape,
    former_names: dataset.formerNames,
    findings: dataset.findings,
  };
}
