import * as v from 'valibot';
import { evaluationStates } from '../../../contract/evaluations.ts';
import { graderBounds } from '../../../contract/graders/grader-types.ts';
import { phaseNames } from '../../../contract/jobs.ts';
import { rowShapeNames } from '../../../contract/rows.ts';
import { judgedPairs } from '../../../domain/graders/graders.ts';

const figures = v.record(v.string(), v.nullable(v.number()));
const summary = {
  evaluation_id: v.string(),
  state: v.picklist(evaluationStates),
  /** Why it failed. */
  error: v.nullable(v.string()),
  /** What answers, as people call it. */
  name: v.string(),
  base_model: v.string(),
  /** null for a base model, and for the checkpoint of a run without a model. */
  model_id: v.nullable(v.string()),
  job_id: v.nullable(v.string()),
  /** The step of a checkpoint. */
  checkpoint: v.nullable(v.number()),
  dataset: v.string(),
  /** The SHA-256 of the rows; the figures of evaluations with the same can be compared. null until they are copied. */
  rows_digest: v.nullable(v.string()),
  row_shape: v.picklist(rowShapeNames),
  /** How many rows are scored. */
  rows: v.number(),
  /** The phase of a running one, and how much of it is done (0 to 1). */
  phase: v.nullable(v.picklist(phaseNames)),
  progress: v.nullable(v.number()),
  detail: v.nullable(v.string()),
  /** null until it is completed. */
  figures: v.nullable(figures),
  warnings: v.array(v.string()),
  created_at: v.string(),
  started_at: v.nullable(v.string()),
  ended_at: v.nullable(v.string()),
};
const result = v.object({
  /** In the dataset, from 1. */
  line: v.number(),
  /** Texts are cut after 4,000 characters. */
  prompt: v.string(),
  /** The answer that is wanted; null for rows of text. */
  reference: v.nullable(v.string()),
  /** That of a preference. */
  rejected: v.nullable(v.string()),
  /** The model's; null if none was generated. */
  answer: v.nullable(v.string()),
  figures,
  /** What each grader says of its score, by its name. */
  notes: v.optional(v.record(v.string(), v.string())),
});
/** Two evaluations, and who judges their answers. */
export const pairsRequest = v.strictObject({
  evaluations: v.pipe(
    v.array(v.string()),
    v.length(2, 'must name two evaluations'),
    v.description('Two evaluations of the same rows.'),
  ),
  judge: v.pipe(
    v.string(),
    v.description('A stored grader of the type `score_model` or `label_model`, whose model is asked.'),
  ),
  criteria: v.pipe(
    v.optional(v.nullable(v.pipe(v.string(), v.maxLength(10_000)))),
    v.description('What makes an answer better. Default: the judge decides.'),
  ),
  rows: v.pipe(
    v.optional(
      v.pipe(
        v.number(),
        v.integer('must be a whole number'),
        v.minValue(1, 'must be at least 1'),
        v.maxValue(graderBounds.testedRows, `must be at most ${graderBounds.testedRows}`),
      ),
      graderBounds.usualPairs,
    ),
    v.description('How many of the first rows are judged.'),
  ),
});
const { entries: judged } = judgedPairs;
export const pairs = v.object({
  summary: judged.summary,
  pairs: v.array(
    v.object({
      line: v.number(),
      prompt: v.string(),
      ...judged.pairs.item.entries,
    }),
  ),
});
export const evaluationList = v.object({ evaluations: v.array(v.object(summary)) });
export const evaluation = v.object({
  ...summary,
  /** Of the first 200 rows. */
  results: v.array(result),
});
export type EvaluationDetail = v.InferOutput<typeof evaluation>;
export type EvaluationSummary = v.InferOutput<typeof evaluationList>['evaluations'][number];
