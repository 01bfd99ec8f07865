import { resumableStates } from '../../../contract/jobs.ts';
import type { Verification } from '../../../contract/journal.ts';
import type { RowShape } from '../../../contract/rows.ts';
import type { Checkpoint } from '../../../domain/checkpoints/checkpoints.ts';
import type { Consumption } from '../../../domain/events/consumption.ts';
import type { AskedWith } from '../../../domain/job-record/asked-with.ts';
import { engineOf } from '../../../domain/job-record/engine.ts';
import {
  displayNameOf,
  expectedEnd,
  expectedEndOf,
  exportOf,
  type Job,
  jobName,
  lastPointOf,
  messageOf,
  progressOf,
} from '../../../domain/job-record/job.ts';
import type { Verdict } from '../../../domain/jobs/verdict/verdict.ts';
import { parentOf } from '../../../domain/models/merged-base.ts';
import type { TemplateFacts } from '../../../domain/models/models.ts';
import { sweepName } from '../../../domain/sweeps/sweep.ts';
import { repeatedRequest } from '../../../domain/training/repeated-request.ts';

/** How long a job still takes, in seconds. */
function secondsLeft(job: Job): number | null {
  const end = expectedEnd(job);
  return end === null ? null : Math.max(0, Math.round((end - Date.now()) / 100) / 10);
}

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
    seconds_left: secondsLeft(job),
    expected_end: expectedEndOf(job),
    last_metric: lastPointOf(job),
    metrics: job.resultMetrics,
    verification: job.verification as Verification | null,
    export: exportOf(job),
    resumable: resumableStates.includes(job.state),
    display_name: displayNameOf(job),
    notes: job.notes,
    tags: [...job.tags],
    sweep_id: job.sweepId === null ? null : sweepName(job.sweepId),
    gain: job.gain,
  };
}

export function presentJobDetail(
  job: Job,
  consumption: Consumption,
  checkpoints: readonly Checkpoint[],
  facts: {
    readonly template: TemplateFacts;
    readonly trained: boolean;
    readonly askedWith: AskedWith;
  },
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
    parent: parentOf(spec),
    validation_dataset: spec?.validation?.name ?? null,
    settings: spec?.settings ?? {},
    engine: engineOf(job),
    request: repeatedRequest(job),
    quantizations: spec?.export?.quantizations ?? [],
    trained: facts.trained,
    chat_template: facts.template.isOwn,
    context_length: facts.template.contextTokens,
    tools_fault: facts.template.toolsFault,
    system_prompt: facts.askedWith.systemPrompt,
    tools: [...facts.askedWith.tools],
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

const presentVerdict = ({
  verified,
  durationSeconds,
  loss,
  metric,
  reason,
  judgement,
  retention,
  prompts,
}: Verdict) => ({
  verified,
  duration_seconds: durationSeconds,
  loss,
  metric,
  reason,
  judgement: { ...judgement, notes: [...judgement.notes] },
  retention: retention && {
    loss: retention.loss,
    kl: retention.divergence,
    advice: retention.advice,
    strengths: retention.strengths.map(({ strength, generalLoss, loss }) => ({
      strength,
      general_loss: generalLoss,
      loss,
    })),
    checkpoints: retention.checkpoints.map(({ step, generalLoss, loss }) => ({
      step,
      general_loss: generalLoss,
      loss,
    })),
  },
  prompts: prompts.map((prompt) => ({ ...prompt, checkpoints: [...prompt.checkpoints] })),
});
