import * as v from 'valibot';

/*
 * Evals, runs and output items as OpenAI's API has them. They are stored as such, also those that were moved from there.
 */

const text = v.string();
const count = v.number();
const metadata = v.nullable(v.record(text, text));
const anything = v.record(text, v.unknown());
const apiError = v.nullable(v.object({ code: text, message: text }));

export const evalObject = v.object({
  id: text,
  object: v.literal('eval'),
  /** In Unix seconds. */
  created_at: count,
  name: text,
  /** Its schema is that of `{item, sample}`, where `sample` stands if a model is asked. */
  data_source_config: v.looseObject({ type: text, schema: anything }),
  testing_criteria: v.array(v.looseObject({ type: text, name: text })),
  metadata,
});
export type Eval = v.InferOutput<typeof evalObject>;

export const runStatuses = ['queued', 'in_progress', 'completed', 'canceled', 'failed'] as const;
const modelUsage = v.object({
  model_name: text,
  invocation_count: count,
  prompt_tokens: count,
  completion_tokens: count,
  cached_tokens: count,
  total_tokens: count,
});
export type ModelUsage = v.InferOutput<typeof modelUsage>;

export const evalRun = v.object({
  id: text,
  object: v.literal('eval.run'),
  created_at: count,
  eval_id: text,
  name: text,
  status: v.picklist(runStatuses),
  /** The model that is asked. */
  model: v.nullable(text),
  /** As the request gave it. */
  data_source: v.looseObject({ type: text }),
  metadata,
  error: apiError,
  report_url: text,
  result_counts: v.object({ total: count, passed: count, failed: count, errored: count }),
  per_testing_criteria_results: v.array(v.object({ testing_criteria: text, passed: count, failed: count })),
  per_model_usage: v.array(modelUsage),
});
export type EvalRun = v.InferOutput<typeof evalRun>;

export const itemStatuses = ['pass', 'fail', 'error'] as const;
const criterionResult = v.looseObject({
  name: text,
  type: v.nullish(text),
  score: count,
  passed: v.boolean(),
});
export type CriterionResult = v.InferOutput<typeof criterionResult>;

/** Of rows that had their answer, what is not known of it is `null`. */
const sample = v.looseObject({
  input: v.array(v.looseObject({ role: text, content: text })),
  output: v.array(v.looseObject({ role: v.optional(text), content: v.nullish(text) })),
  model: v.nullable(text),
  finish_reason: v.nullable(text),
  usage: v.object({
    prompt_tokens: count,
    completion_tokens: count,
    cached_tokens: count,
    total_tokens: count,
  }),
  error: apiError,
  temperature: v.nullable(count),
  top_p: v.nullable(count),
  max_completion_tokens: v.nullable(count),
  seed: v.nullable(count),
});
export type Sample = v.InferOutput<typeof sample>;

export const outputItem = v.object({
  id: text,
  object: v.literal('eval.run.output_item'),
  created_at: count,
  eval_id: text,
  run_id: text,
  status: v.picklist(itemStatuses),
  /** The place of the row, from 0. */
  datasource_item_id: count,
  datasource_item: anything,
  results: v.array(criterionResult),
  sample,
});
export type OutputItem = v.InferOutput<typeof outputItem>;

/** An ID of a new object. */
export const newId = (prefix: 'eval' | 'evalrun' | 'outputitem'): string =>
  `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`;

/** Now in Unix seconds. */
export const nowSeconds = (): number => Math.floor(Date.now() / 1000);
