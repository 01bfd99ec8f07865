import type { InferOutput } from 'valibot';
import { errorOf, type Job, messageOf, progressOf } from '../../domain/job-record/job.ts';
import { withoutParent } from '../../domain/models/merged-base.ts';
import type { Model } from '../../domain/models/models.ts';
import type { status } from './schemas.ts';

const bytesPerMb = 1e6;

/** Job states as `/api/finetune/status` names them (docs/api.md, Job states). */
export function presentStatus(job: Job | null): InferOutput<typeof status> {
  if (job === null) return { status: 'idle', progress: 0, message: 'No training is running', error: null };
  switch (job.state) {
    case 'completed':
      return { status: 'completed', progress: 100, message: messageOf(job), error: null };
    case 'failed':
    case 'interrupted':
      return { status: 'error', progress: progressOf(job), message: messageOf(job), error: errorOf(job) };
    case 'stopped':
      return { status: 'idle', progress: 0, message: messageOf(job), error: null };
    default:
      return { status: 'running', progress: progressOf(job), message: messageOf(job), error: null };
  }
}

export function presentReduced(model: Model) {
  return {
    model_id: model.modelId,
    name: model.name,
    base_model: model.baseModel,
    task: model.task,
    created_at: model.createdAt,
  };
}

export function presentListed(model: Model) {
  return {
    ...presentReduced(model),
    strategy: model.strategy,
    size_mb: Math.round((model.sizeBytes / bytesPerMb) * 100) / 100,
    path: model.path,
  };
}

export function presentDetailed(model: Model) {
  return {
    ...presentListed(model),
    provider: model.provider,
    config: withoutParent(model.config),
    metrics: model.metrics as Readonly<Record<string, number | null>>,
  };
}
