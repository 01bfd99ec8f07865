import type { AnswerFormat, Settings } from '../../contract/settings.ts';
import { mostAnswers, totalSteps } from '../../contract/training/steps.ts';
import { AppError, type FieldIssue, inSentences } from '../../errors.ts';
import { refusal } from '../../faults.ts';
import type { GraderDefinition } from '../graders/grader-definition.ts';
import type { TrainingRequest } from '../training/training-request.ts';

/** A request for a job in the terms of OpenAI's API; an absent hyperparameter is chosen by Hone. */
export interface JobRequest {
  readonly model: string;
  readonly trainingFile: string;
  readonly validationFile: string | null;
  readonly method: 'supervised' | 'dpo' | 'reinforcement';
  readonly hyperparameters: {
    readonly epochs: number | null;
    readonly batchSize: number | null;
    readonly learningRateMultiplier: number | null;
    /** Of `dpo`. */
    readonly beta: number | null;
    /** Of `reinforcement`: steps between evaluations on the validation file. */
    readonly evalInterval?: number | null;
  };
  /** Of `reinforcement`; its client may define it. */
  readonly grader?: GraderDefinition | undefined;
  /** Of `reinforcement`: what its answers are held to. */
  readonly responseFormat?: AnswerFormat | null | undefined;
  /** Where the request has them, for messages: `hyperparameters`, or below `method`. */
  readonly hyperparametersAt: readonly string[];
  readonly suffix: string | null;
  readonly seed: number | null;
  /** The project of Weights & Biases that gets its figures; `null` for none. */
  readonly wandbProject: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Checkpoints that stay on disk: as many as OpenAI keeps. */
const keptCheckpoints = 3;
const largestRate = 1;

const strategies = { supervised: 'sft', dpo: 'dpo', reinforcement: 'grpo' } as const;

/** Splits a batch into steps of at most the recommended size for a device. */
function splitBatch(
  batchSize: number,
  recommended: number,
): Pick<Settings, 'per_device_train_batch_size' | 'gradient_accumulation_steps'> {
  for (let size = Math.min(recommended, batchSize); ; size -= 1) {
    if (batchSize % size === 0)
      return { per_device_train_batch_size: size, gradient_accumulation_steps: batchSize / size };
  }
}

/**
 * The training request for a job. Each epoch ends with a checkpoint, as with OpenAI. A batch counts rows, each of which
 * `reinforcement` answers several times.
 * @param recommended the settings of this machine.
 * @param rows the training file's.
 * @throws AppError `invalid` for a learning rate that is too large.
 */
export function toTrainingRequest(
  request: JobRequest,
  recommended: Settings,
  dataset: { readonly name: string; readonly rows: number },
  validationDataset: string | null,
): TrainingRequest {
  const { epochs, batchSize, learningRateMultiplier, beta, evalInterval } = request.hyperparameters;
  const strategy = strategies[request.method];
  const learningRate = recommended.learning_rate * (learningRateMultiplier ?? 1);
  if (learningRate > largestRate) {
    const place = [...request.hyperparametersAt, 'learning_rate_multiplier'];
    const msg = `Field "${place.join('.')}": must be at most ${largestRate / recommended.learning_rate}; it multiplies the recommended learning rate of ${recommended.learning_rate}`;
    throw refusal([{ loc: ['body', ...place], msg, type: 'value_error' }]);
  }
  if (evalInterval != null && validationDataset === null) {
    const place = [...request.hyperparametersAt, 'eval_interval'];
    const msg = `Field "${place.join('.')}": needs a validation_file`;
    throw refusal([{ loc: ['body', ...place], msg, type: 'value_error' }]);
  }
  const batch =
    batchSize === null
      ? {}
      : splitBatch(batchSize * (mostAnswers[strategy] ?? 1), recommended.per_device_train_batch_size);
  return {
    task: 'text-generation',
    model_name: request.model,
    dataset: dataset.name,
    validation_dataset: validationDataset ?? undefined,
    strategy,
    graders: request.grader === undefined ? undefined : [{ grader: request.grader }],
    response_format: request.responseFormat ?? undefined,
    queue: true,
    ...batch,
    num_train_epochs: epochs ?? undefined,
    learning_rate: learningRateMultiplier === null ? undefined : learningRate,
    beta: beta ?? undefined,
    eval_steps: evalInterval ?? undefined,
    seed: request.seed ?? undefined,
    report_to: request.wandbProject === null ? undefined : ['wandb'],
    project: request.wandbProject ?? undefined,
    save_steps: totalSteps({ ...recommended, ...batch, num_train_epochs: 1 }, strategy, dataset.rows),
    save_total_limit: keptCheckpoints,
  };
}

/** Where OpenAI's requests have what a field of the training request says. */
function placeOf(field: string, { hyperparametersAt }: JobRequest): readonly string[] {
  switch (field) {
    case 'model_name':
      return ['model'];
    case 'dataset':
      return ['training_file'];
    case 'validation_dataset':
      return ['validation_file'];
    case 'num_train_epochs':
      return [...hyperparametersAt, 'n_epochs'];
    case 'per_device_train_batch_size':
    case 'gradient_accumulation_steps':
      return [...hyperparametersAt, 'batch_size'];
    case 'beta':
      return [...hyperparametersAt, 'beta'];
    case 'learning_rate':
      return [...hyperparametersAt, 'learning_rate_multiplier'];
    case 'eval_steps':
      return [...hyperparametersAt, 'eval_interval'];
    case 'graders':
      return ['method', 'reinforcement', 'grader'];
    case 'response_format':
      return ['method', 'reinforcement', 'response_format'];
    case 'strategy':
    case 'task':
      return ['method', 'type'];
    default:
      return [field];
  }
}

/** Seconds after which a client may try again when the queue is full. */
const retryAfterSeconds = 60;

/** An error of the start of a job, in the terms of the request that asked for it. */
export function inTermsOf(request: JobRequest, error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { kind, message, details } = error;
  if (kind === 'conflict') {
    return new AppError('too_many', message, { cause: error, details: { ...details, retryAfterSeconds } });
  }
  if (kind !== 'invalid' && kind !== 'not_found') return error;
  const named: readonly FieldIssue[] =
    error.issues.length > 0
      ? error.issues
      : [{ loc: ['body', 'dataset'], msg: message, type: 'value_error' }];
  const issues = named.map((issue) => {
    const place = placeOf(issue.loc[1] ?? '', request);
    return { ...issue, loc: ['body', ...place], msg: `Field "${place.join('.')}": ${issue.msg}` };
  });
  const first = issues[0]?.loc[1];
  const code = first === 'training_file' || first === 'validation_file' ? `invalid_${first}` : null;
  return new AppError('invalid', inSentences(issues.map(({ msg }) => msg)), {
    cause: error,
    issues,
    details: { code },
  });
}
