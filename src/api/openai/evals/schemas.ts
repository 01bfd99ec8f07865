import * as v from 'valibot';
import { graderBounds } from '../../../contract/graders/grader-types.ts';
import { criterion } from '../../../domain/evals/criteria.ts';
import { evalObject, evalRun, itemStatuses, outputItem, runStatuses } from '../../../domain/evals/objects.ts';
import { limitOf } from '../fine-tuning/file-schemas.ts';
import { listOf, metadata } from '../fine-tuning/job-schemas.ts';
import { notList, or } from '../schemas.ts';

export const objectName = v.pipe(v.string(), v.maxLength(256, 'must have at most 256 characters'));

/** What only OpenAI stores. */
export const elsewhere =
  (allowed: string) =>
  ({ received }: { readonly received: string }) =>
    `must be ${allowed}: ${received.slice(0, 50)} is not supported`;

const criteria = v.pipe(
  v.array(criterion),
  v.minLength(1, 'must have at least one criterion'),
  v.maxLength(graderBounds.ofEvaluation, `must have at most ${graderBounds.ofEvaluation} criteria`),
  v.check(
    (given) => new Set(given.map(({ name }) => name)).size === given.length,
    'must have names of their own',
  ),
);

export const createBody = v.strictObject({
  name: or(objectName),
  metadata: or(metadata),
  data_source_config: v.variant(
    'type',
    [
      v.strictObject({
        type: v.literal('custom'),
        item_schema: v.intersect([v.record(v.string(), v.unknown()), notList]),
        include_sample_schema: or(v.boolean()),
      }),
    ],
    elsewhere('custom'),
  ),
  testing_criteria: criteria,
});
export const updateBody = v.strictObject({ name: or(objectName), metadata: or(metadata) });

const page = {
  after: v.optional(v.string()),
  limit: limitOf(100, 20),
  order: v.optional(v.picklist(['asc', 'desc']), 'asc'),
};
export const evalQuery = v.object({
  ...page,
  order_by: v.optional(v.picklist(['created_at', 'updated_at']), 'created_at'),
});
export const runQuery = v.object({ ...page, status: v.optional(v.picklist(runStatuses)) });
export const itemQuery = v.object({ ...page, status: v.optional(v.picklist(itemStatuses)) });

export const evals = listOf(evalObject);
export const runs = listOf(evalRun);
export const items = listOf(outputItem);
export const deletedEval = v.object({
  object: v.literal('eval.deleted'),
  deleted: v.literal(true),
  eval_id: v.string(),
});
export const deletedRun = v.object({
  object: v.literal('eval.run.deleted'),
  deleted: v.literal(true),
  run_id: v.string(),
});
