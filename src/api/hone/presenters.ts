import { type Job, jobName, messageOf, progressOf } from '../../domain/job.ts';
import { resumableStates } from '../../domain/job-states.ts';

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
    phase: job.phase,
    phase_progress: job.phaseProgress,
    detail: job.phaseDetail,
    last_metric: job.lastMetric,
    metrics: job.resultMetrics,
    verification: job.verification,
    resumable: resumableStates.includes(job.state),
  };
}

export function presentJobDetail(job: Job) {
  const spec = job.spec as { settings: Record<string, unknown>; export: unknown } | null;
  return {
    ...presentJob(job),
    settings: spec?.settings ?? {},
    export: spec?.export ?? null,
    artifacts: job.artifacts,
  };
}
