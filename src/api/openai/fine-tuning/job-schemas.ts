import * as v from 'valibot';
import { settings } from '../../../contract/settings.ts';
import { fineTuningStates } from '../../../domain/fine-tuning/job-status.ts';
import { jsonSchemaFormat } from '../../../domain/graders/answer-schema.ts';
import { graderDefinition } from '../../../domain/graders/grader-definition.ts';
import { trackerProject } from '../../../domain/training/training-request.ts';
import { notList } from '../schemas.ts';
import { limitOf } from './file-schemas.ts';

const or = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema));
const text = (max: number) => v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(max));

/** `auto`, which leaves the choice to Hone, or a number. */
const autoOr = <S extends v.GenericSchema<number>>(number: S) =>
  or(v.union([v.literal('auto'), number], (issue) => numberMessage(issue)));
const numberMessage = (issue: v.UnionIssue<v.BaseIssue<unknown>>) => {
  const own = issue.issues?.find(({ kind }) => kind === 'validation')?.message;
  return own ?? 'must be "auto" or a number';
};
const { max: mostEpochs } = settings.num_train_epochs;
const { max: mostBeta } = settings.beta;
const mostBatch = 1024;

const common = {
  n_epochs: autoOr(
    v.pipe(
      v.number(),
      v.gtValue(0, 'must be greater than 0'),
      v.maxValue(mostEpochs, `must be at most ${mostEpochs}`),
    ),
  ),
  batch_size: autoOr(
    v.pipe(
      v.number(),
      v.integer('must be a whole number'),
      v.minValue(1, 'must be at least 1'),
      v.maxValue(mostBatch, `must be at most ${mostBatch}`),
    ),
  ),
  learning_rate_multiplier: autoOr(
    v.pipe(v.number(), v.gtValue(0, 'must be greater than 0'), v.finite('must be a finite number')),
  ),
};
const hyperparameters = v.intersect([v.strictObject(common), notList]);
const dpoObject = v.strictObject({
  ...common,
  beta: autoOr(
    v.pipe(
      v.number(),
      v.gtValue(0, 'must be greater than 0'),
      v.maxValue(mostBeta, `must be at most ${mostBeta}`),
    ),
  ),
});
const dpoHyperparameters = v.intersect([dpoObject, notList]);
const wholeFrom1 = v.pipe(
  v.number(),
  v.integer('must be a whole number'),
  v.minValue(1, 'must be at least 1'),
);
const onlyAuto = (alternative: string) => or(v.literal('auto', `must be "auto": ${alternative}`));
const reinforcementObject = v.strictObject({
  ...common,
  eval_interval: autoOr(wholeFrom1),
  eval_samples: onlyAuto('each row of the validation file is answered as often as in training'),
  compute_multiplier: or(
    v.picklist(['auto', 1], 'must be "auto" or 1: each row is answered eight times within a step'),
  ),
  reasoning_effort: or(v.literal('default', 'must be "default": models here reason as their template says')),
});
export type Hyperparameters = v.InferOutput<typeof dpoObject> &
  Pick<v.InferOutput<typeof reinforcementObject>, 'eval_interval'>;

const methods = ['supervised', 'dpo', 'reinforcement'] as const;
const method = v.pipe(
  v.strictObject({
    type: v.picklist(methods),
    supervised: or(v.strictObject({ hyperparameters: or(hyperparameters) })),
    dpo: or(v.strictObject({ hyperparameters: or(dpoHyperparameters) })),
    reinforcement: or(
      v.strictObject({
        grader: graderDefinition,
        hyperparameters: or(v.intersect([reinforcementObject, notList])),
        response_format: or(jsonSchemaFormat),
      }),
    ),
  }),
  v.forward(
    v.check(
      (given) => methods.every((name) => name === given.type || given[name] == null),
      'must be that of the method that is given under its own name',
    ),
    ['type'],
  ),
  v.forward(
    v.check(
      ({ type, reinforcement }) => type !== 'reinforcement' || reinforcement != null,
      'must be set, with a grader',
    ),
    ['reinforcement'],
  ),
);

const mostPairs = 16;
export const metadata = v.pipe(
  v.intersect([
    v.record(
      v.pipe(v.string(), v.maxLength(64, 'a key must have at most 64 characters')),
      v.pipe(v.string(), v.maxLength(512, 'must have at most 512 characters')),
    ),
    notList,
  ]),
  v.check((pairs) => Object.keys(pairs).length <= mostPairs, `must have at most ${mostPairs} pairs`),
);

export const createBody = v.strictObject({
  model: text(1024),
  training_file: text(200),
  validation_file: or(text(200)),
  method: or(method),
  hyperparameters: or(hyperparameters),
  suffix: or(v.pipe(v.string(), v.maxLength(64, 'must have at most 64 characters'))),
  seed: or(
    v.pipe(
      v.number(),
      v.integer('must be a whole number'),
      v.minValue(settings.seed.min, `must be at least ${settings.seed.min}`),
      v.maxValue(settings.seed.max, `must be at most ${settings.seed.max}`),
    ),
  ),
  metadata: or(metadata),
  integrations: or(
    v.pipe(
      v.array(
        v.strictObject({
          type: v.literal('wandb', 'must be "wandb"'),
          wandb: v.intersect([v.strictObject({ project: trackerProject }), notList]),
        }),
      ),
      v.maxLength(1, 'must have at most one integration'),
    ),
  ),
});
export type CreateBody = v.InferOutput<typeof createBody>;

export const pageQuery = v.object({ after: v.optional(v.string()), limit: limitOf(100, 20) });
/** Also `metadata[KEY]`, any number of times, which a schema cannot list. */
export const jobQuery = v.looseObject({
  ...pageQuery.entries,
  metadata: v.optional(v.literal('null', 'must be "null"; write metadata[KEY]=VALUE for a pair')),
});

const auto = v.union([v.literal('auto'), v.number()]);
const used = v.object({ n_epochs: auto, batch_size: auto, learning_rate_multiplier: auto });
const error = v.object({ code: v.string(), message: v.string(), param: v.nullable(v.string()) });
const seconds = v.nullable(v.number());

export const job = v.object({
  id: v.string(),
  object: v.literal('fine_tuning.job'),
  created_at: v.number(),
  finished_at: seconds,
  estimated_finish: seconds,
  model: v.string(),
  fine_tuned_model: v.nullable(v.string()),
  organization_id: v.string(),
  status: v.picklist(fineTuningStates),
  error: v.nullable(error),
  training_file: v.string(),
  validation_file: v.nullable(v.string()),
  result_files: v.array(v.string()),
  trained_tokens: v.nullable(v.number()),
  seed: v.number(),
  hyperparameters: used,
  method: v.object({
    type: v.picklist(methods),
    supervised: v.optional(v.object({ hyperparameters: used })),
    dpo: v.optional(v.object({ hyperparameters: v.object({ ...used.entries, beta: auto }) })),
    /** Absent from jobs of the page whose reward is no single grader. */
    reinforcement: v.optional(
      v.object({
        grader: graderDefinition,
        hyperparameters: v.object({ ...used.entries, eval_interval: auto }),
        response_format: v.optional(jsonSchemaFormat),
      }),
    ),
  }),
  integrations: v.array(v.object({ type: v.literal('wandb'), wandb: v.object({ project: v.string() }) })),
  metadata: v.record(v.string(), v.string()),
  user_provided_suffix: v.nullable(v.string()),
});
export const listOf = <S extends v.GenericSchema>(item: S) =>
  v.object({
    object: v.literal('list'),
    data: v.array(item),
    first_id: v.nullable(v.string()),
    last_id: v.nullable(v.string()),
    has_more: v.boolean(),
  });
export const jobs = listOf(job);
export const checkpointQuery = v.object({ after: v.optional(v.string()), limit: limitOf(100, 10) });
export const checkpoints = listOf(
  v.object({
    id: v.string(),
    object: v.literal('fine_tuning.job.checkpoint'),
    created_at: v.number(),
    fine_tuning_job_id: v.string(),
    fine_tuned_model_checkpoint: v.string(),
    step_number: v.number(),
    metrics: v.object({
      step: v.number(),
      train_loss: v.optional(v.number()),
      train_mean_token_accuracy: v.optional(v.number()),
      valid_loss: v.optional(v.number()),
      valid_mean_token_accuracy: v.optional(v.number()),
      full_valid_loss: v.optional(v.number()),
      full_valid_mean_token_accuracy: v.optional(v.number()),
      train_mean_reward: v.optional(v.number()),
      valid_mean_reward: v.optional(v.number()),
      full_valid_mean_reward: v.optional(v.number()),
      completion_tokens_mean: v.optional(v.number()),
    }),
  }),
);
export const events = listOf(
  v.object({
    id: v.string(),
    object: v.literal('fine_tuning.job.event'),
    created_at: v.number(),
    level: v.picklist(['info', 'warn', 'error']),
    message: v.string(),
    type: v.picklist(['message', 'metrics']),
    data: v.record(v.string(), v.unknown()),
  }),
);
