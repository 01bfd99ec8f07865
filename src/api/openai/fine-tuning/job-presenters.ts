import type { Settings, WeightedGrader } from '../../../contract/settings.ts';
import { promptsPerStep } from '../../../contract/training/steps.ts';
import type { FineTuningJob, NamedCheckpoint } from '../../../domain/fine-tuning/fine-tuning-jobs.ts';
import type { JobEvent } from '../../../domain/fine-tuning/job-events.ts';
import type { GraderDefinition } from '../../../domain/graders/grader-definition.ts';
import { expectedEnd } from '../../../domain/job-record/job.ts';
import { parentOf } from '../../../domain/models/merged-base.ts';
import { unixSeconds } from '../page.ts';

/** A job's ID in this API, by its number. */
export const jobIdOf = (number: number): string => `ftjob-${number}`;
export const eventIdOf = (seq: number): string => `ftevent-${seq}`;

/** The number in an ID with this prefix, or `null`. */
export function numberIn(id: string, prefix: 'ftjob-' | 'ftevent-'): number | null {
  const digits = id.startsWith(prefix) ? id.slice(prefix.length) : '';
  return /^\d{1,15}$/.test(digits) ? Number(digits) : null;
}

const methods: Readonly<Record<string, 'supervised' | 'dpo' | 'reinforcement'>> = {
  dpo: 'dpo',
  rlhf: 'reinforcement',
  grpo: 'reinforcement',
};

/** Times in Unix seconds; the number of tokens counts those of the prompts, too. */
export function presentFineTuningJob({ job, state, asked, ...made }: FineTuningJob) {
  const { settings } = made;
  const ended = state === 'succeeded' || state === 'failed' || state === 'cancelled';
  const hyperparameters = {
    n_epochs: settings?.num_train_epochs ?? ('auto' as const),
    batch_size: batchSize(settings, job.strategy) ?? ('auto' as const),
    learning_rate_multiplier: made.learningRateMultiplier ?? ('auto' as const),
  };
  const grader = job.strategy === 'grpo' ? onlyGrader(settings?.graders ?? []) : null;
  const type = methods[job.strategy] ?? 'supervised';
  return {
    id: jobIdOf(job.id),
    object: 'fine_tuning.job' as const,
    created_at: unixSeconds(job.createdAt),
    finished_at: ended && job.endedAt !== null ? unixSeconds(job.endedAt) : null,
    estimated_finish: estimatedFinish(job, state),
    model: parentOf(job.spec)?.name ?? job.modelName,
    fine_tuned_model: made.modelName,
    organization_id: 'hone',
    status: state,
    error: state === 'failed' ? errorOf(job) : null,
    training_file: made.trainingFile,
    validation_file: asked?.validationFile ?? null,
    result_files: made.resultFile === null ? [] : [made.resultFile],
    trained_tokens: state === 'succeeded' ? (job.lastMetric?.tokens ?? null) : null,
    seed: settings?.seed ?? 0,
    hyperparameters,
    method: {
      type,
      supervised: type === 'supervised' ? { hyperparameters } : undefined,
      dpo:
        type === 'dpo'
          ? { hyperparameters: { ...hyperparameters, beta: settings?.beta ?? ('auto' as const) } }
          : undefined,
      reinforcement:
        grader === null
          ? undefined
          : {
              grader,
              hyperparameters: {
                ...hyperparameters,
                eval_interval: settings?.eval_steps ?? ('auto' as const),
              },
              response_format: settings?.response_format ?? undefined,
            },
    },
    integrations:
      made.wandbProject === null ? [] : [{ type: 'wandb' as const, wandb: { project: made.wandbProject } }],
    metadata: { ...asked?.metadata },
    user_provided_suffix: asked?.suffix ?? null,
  };
}

/** Rows per step; each is answered several times by methods that compare answers. */
function batchSize(settings: Partial<Settings> | null, strategy: string): number | null {
  const { per_device_train_batch_size: size, gradient_accumulation_steps: accumulation } = settings ?? {};
  if (size === undefined || accumulation === undefined) return null;
  return promptsPerStep(settings as Settings, strategy) ?? size * accumulation;
}

/** The grader of a run whose reward is its score alone. */
function onlyGrader(graders: readonly WeightedGrader[]): GraderDefinition | null {
  const [first] = graders;
  return graders.length === 1 && typeof first === 'object' && (first.weight ?? 1) === 1
    ? ((first.grader as GraderDefinition | undefined) ?? null)
    : null;
}

function estimatedFinish(job: FineTuningJob['job'], state: FineTuningJob['state']): number | null {
  const end = state === 'running' ? expectedEnd(job) : null;
  return end === null ? null : Math.ceil(end / 1000);
}

/** Hone's own failure code; rows that cannot be trained on are the training file's. */
function errorOf({ errorCode, errorMessage, errorAdvice }: FineTuningJob['job']) {
  const isRow = errorCode === 'bad_dataset_row';
  return {
    code: isRow ? 'invalid_training_file' : (errorCode ?? 'internal'),
    message: [errorMessage ?? 'The training failed.', errorAdvice].filter(Boolean).join(' '),
    param: isRow ? 'training_file' : null,
  };
}

export function presentCheckpoint(jobNumber: number, checkpoint: NamedCheckpoint) {
  const { step, createdAt, name, figures } = checkpoint;
  return {
    id: `ftckpt-${jobNumber}-${step}`,
    object: 'fine_tuning.job.checkpoint' as const,
    created_at: unixSeconds(createdAt),
    fine_tuning_job_id: jobIdOf(jobNumber),
    fine_tuned_model_checkpoint: name,
    step_number: step,
    metrics: { step, ...figures },
  };
}

export const presentEvent = ({ seq, time, level, message, type, data }: JobEvent) => ({
  id: eventIdOf(seq),
  object: 'fine_tuning.job.event' as const,
  created_at: unixSeconds(time),
  level,
  message,
  type,
  data: { ...data },
});
