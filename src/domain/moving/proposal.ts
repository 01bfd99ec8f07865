import * as v from 'valibot';
import { type Settings, settings } from '../../contract/settings.ts';
import { asAppError } from '../../errors.ts';
import type { Dataset } from '../datasets/dataset.ts';
import { toTrainingRequest } from '../fine-tuning/job-request.ts';
import { jsonSchemaFormat } from '../graders/answer-schema.ts';
import { type GraderDefinition, graderDefinition, partsOf } from '../graders/grader-definition.ts';
import type { TrainingRequest } from '../training/training-request.ts';
import type { MovedJob } from './moved-records.ts';

/** The equal training here. */
export interface Proposal {
  readonly request: TrainingRequest;
  /** What differs, and where values come from. */
  readonly notes: readonly string[];
}

/** What a proposal depends on. */
export interface ProposalContext {
  /** The datasets that the job's files became; `validation` is `null` if it is not here or cannot be used. */
  readonly training: Dataset;
  readonly validation: Dataset | null;
  /** The base model that is recommended for this machine. */
  readonly baseModel: string;
  readonly recommended: Settings;
}

/** The equal training, or why there is none. */
export function propose(job: MovedJob, context: ProposalContext): Proposal | string {
  const { training, validation, baseModel, recommended } = context;
  const { method } = job;
  if (method !== 'supervised' && method !== 'dpo' && method !== 'reinforcement') {
    return `Hone has no training that equals the method "${method}".`;
  }
  const grader = method === 'reinforcement' ? readGrader(job.grader) : undefined;
  if (typeof grader === 'string') return grader;
  const format = v.safeParse(jsonSchemaFormat, job.response_format);
  const number = (name: string, most: number) => {
    const value = job.hyperparameters[name];
    return typeof value === 'number' && value > 0 ? Math.min(value, most) : null;
  };
  const hyperparameters = {
    epochs: number('n_epochs', settings.num_train_epochs.max),
    batchSize: number('batch_size', settings.per_device_train_batch_size.max),
    learningRateMultiplier: number('learning_rate_multiplier', Number.MAX_VALUE),
    beta: method === 'dpo' ? number('beta', settings.beta.max) : null,
    evalInterval:
      method === 'reinforcement' && validation !== null
        ? number('eval_interval', Number.MAX_SAFE_INTEGER)
        : null,
  };
  const { epochs, batchSize, learningRateMultiplier: multiplier } = hyperparameters;
  const auto = Object.entries({
    n_epochs: epochs,
    batch_size: batchSize,
    learning_rate_multiplier: multiplier,
  })
    .filter(([, value]) => value === null)
    .map(([name]) => name);
  try {
    const request = toTrainingRequest(
      {
        model: baseModel,
        trainingFile: job.training_file,
        validationFile: job.validation_file,
        method,
        hyperparameters: { ...hyperparameters, batchSize: batchSize && Math.ceil(batchSize) },
        grader,
        responseFormat: format.success ? format.output : null,
        hyperparametersAt: ['hyperparameters'],
        suffix: job.suffix,
        seed: job.seed === null ? null : Math.abs(Math.trunc(job.seed)) % 2 ** 32,
        wandbProject: null,
        metadata: {},
      },
      recommended,
      { name: training.name, rows: training.numExamples },
      validation?.name ?? null,
    );
    return {
      request,
      notes: [
        `${job.model} cannot be downloaded. ${baseModel} is the base model that is recommended for this machine.`,
        ...(multiplier === null
          ? []
          : [
              `The learning rate is the recommended ${recommended.learning_rate} times learning_rate_multiplier ${multiplier}.`,
            ]),
        ...(auto.length === 0 ? [] : [`${auto.join(', ')}: as recommended for this machine.`]),
        ...(job.validation_file !== null && validation === null
          ? ['The validation file is not here or cannot be used, so nothing is validated.']
          : []),
        ...(grader === undefined ? [] : notesOf(grader)),
        ...(format.success || job.response_format === null
          ? []
          : ['Its response_format cannot be used here, so answers are not held to it.']),
      ],
    };
  } catch (error) {
    return asAppError(error).message;
  }
}

/** The grader of a job, or why it cannot be used here. The other service tells `null` for fields that are left out here. */
function readGrader(given: MovedJob['grader']): GraderDefinition | string {
  const told = JSON.stringify(given ?? {}, (_key, value) => value ?? undefined);
  const { success, output, issues } = v.safeParse(graderDefinition, JSON.parse(told));
  if (success) return output;
  return `Its grader cannot be used here: ${v.getDotPath(issues[0]) ?? ''} ${issues[0].message}.`;
}

/** What is to be done for a grader before the training can start. */
function notesOf(grader: GraderDefinition): string[] {
  const parts = partsOf(grader);
  const judges = parts.flatMap((part) => ('model' in part ? [part.model] : []));
  return [
    ...(parts.some(({ type }) => type === 'python')
      ? ['Its grader runs Python: store it first (POST /api/graders), and name it in graders.']
      : []),
    ...(judges.length === 0
      ? []
      : [`Its grader asks ${judges.join(', ')}: write a model of this service, or a base_url.`]),
  ];
}
