import * as v from 'valibot';
import { graderDefinition } from '../../../domain/graders/grader-definition.ts';
import { notList } from '../schemas.ts';

export const validateBody = v.strictObject({ grader: graderDefinition });
export const runBody = v.strictObject({
  grader: graderDefinition,
  item: v.optional(v.nullable(v.intersect([v.record(v.string(), v.unknown()), notList]))),
  model_sample: v.string(),
});
export const validated = v.object({ grader: graderDefinition });

/** What may go wrong, as OpenAI's reference has it. Here nothing is cut off, and a judge that refuses says something else. */
export const flags = [
  'formula_parse_error',
  'invalid_variable_error',
  'model_grader_parse_error',
  'model_grader_refusal_error',
  'model_grader_server_error',
  'other_error',
  'python_grader_runtime_error',
  'python_grader_server_error',
  'sample_parse_error',
  'truncated_observation_error',
  'unresponsive_reward_error',
] as const;
const details = v.nullable(v.string());
const numbers = v.record(v.string(), v.number());

export const ran = v.object({
  reward: v.number(),
  metadata: v.object({
    name: v.string(),
    type: v.string(),
    errors: v.object({
      ...v.entriesFromList(flags, v.boolean()),
      model_grader_server_error_details: details,
      python_grader_runtime_error_details: details,
      python_grader_server_error_type: details,
    }),
    /** Seconds, with the start of the process that grades. */
    execution_time: v.number(),
    scores: numbers,
    token_usage: v.nullable(v.number()),
    sampled_model_name: v.nullable(v.string()),
  }),
  /** The scores of the parts of `multi`. */
  sub_rewards: numbers,
  model_grader_token_usage_per_model: v.record(
    v.string(),
    v.object({ prompt_tokens: v.number(), completion_tokens: v.number(), total_tokens: v.number() }),
  ),
});
export type Ran = v.InferOutput<typeof ran>;
