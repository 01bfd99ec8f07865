import * as v from 'valibot';
import { scoredRows } from '../../contract/evaluations.ts';
import { graderBounds } from '../../contract/graders/grader-types.ts';
import { settings } from '../../contract/settings.ts';

const text = (max: number) => v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(max));
const or = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema));
const whole = (name: string, least: number, most: number) =>
  v.pipe(
    v.number(),
    v.minValue(least, `${name} must be at least ${least}`),
    v.maxValue(most, `${name} must be at most ${most}`),
    v.integer(`${name} must be a whole number`),
  );

/** A request to score a dataset. */
export const evaluationRequest = v.strictObject({
  dataset: v.pipe(text(4096), v.description('A stored dataset, or the path of a JSONL file.')),
  model: v.pipe(
    or(text(1024)),
    v.description('A fine-tuned model, by name or ID, or the run of a checkpoint, such as train_3.'),
  ),
  checkpoint: v.pipe(
    or(whole('checkpoint', 1, Number.MAX_SAFE_INTEGER)),
    v.description('The step of a kept checkpoint, instead of the weights at the end.'),
  ),
  as_base: v.pipe(
    or(v.boolean()),
    v.description('Score the base model of `model`, with the prompt template of its training.'),
  ),
  base_model: v.pipe(
    or(text(1024)),
    v.description('A base model: owner/name on the hub, or a folder. Instead of `model`.'),
  ),
  tool_syntax: v.pipe(
    or(v.picklist(settings.tool_syntax.choices)),
    v.description('How tools and calls are written for `base_model`, as in a training. Default: template.'),
  ),
  rows: v.pipe(
    or(whole('rows', 1, scoredRows.most)),
    v.description(`How many of the first rows are scored. Default: ${scoredRows.usual}.`),
  ),
  graders: v.pipe(
    or(
      v.pipe(
        v.array(text(64)),
        v.maxLength(graderBounds.ofEvaluation, `graders must be at most ${graderBounds.ofEvaluation}`),
      ),
    ),
    v.description('Stored graders that score the answers, by name.'),
  ),
});
export type EvaluationRequest = v.InferOutput<typeof evaluationRequest>;

/** Its fields that may name a file or folder of this machine. */
export const evaluationPaths = { dataset: 'file', base_model: 'model' } as const;

/** An example request for the API description. */
export const evaluationExample = {
  dataset: 'support-validation.jsonl',
  model: 'Qwen3-0.6B-support',
  rows: 100,
};
