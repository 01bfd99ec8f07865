import * as v from 'valibot';
import { AppError } from '../../errors.ts';
import { type GraderDefinition, graderDefinition } from '../graders/grader-definition.ts';
import type { Score } from '../graders/graders.ts';
import type { CriterionResult, Eval } from './objects.ts';

/** A testing criterion: a grader with a name, and of texts' similarity with a threshold, as in OpenAI's evals. */
export const criterion = v.pipe(
  graderDefinition,
  v.forward(
    v.check(({ name }) => name !== undefined, 'must be set'),
    ['name'],
  ),
  v.check(
    (given) => given.type !== 'text_similarity' || given.pass_threshold !== undefined,
    'pass_threshold must be set for text_similarity',
  ),
);
export type Criterion = GraderDefinition & { readonly name: string };

/** The testing criteria of an eval. @throws AppError `invalid` if one that was moved is no grader of Hone. */
export const criteriaOf = ({ testing_criteria: given }: Eval): Criterion[] =>
  given.map((one) => {
    const { success, output, issues } = v.safeParse(criterion, one);
    if (success) return output as Criterion;
    const where = v.getDotPath(issues[0]) ?? '';
    throw new AppError(
      'invalid',
      `The testing criterion ${one.name} cannot be used here: ${where} ${issues[0].message}`,
    );
  });

/** The lowest score that passes where the criterion does not say it. */
function thresholdOf(given: Criterion): number {
  if ('pass_threshold' in given && given.pass_threshold !== undefined) return given.pass_threshold;
  if (given.type === 'score_model') return ((given.range[0] as number) + (given.range[1] as number)) / 2;
  return given.type === 'python' || given.type === 'multi' ? 0.5 : 1;
}

export const resultOf = (
  given: Criterion,
  { value, error, explanation }: Score,
): CriterionResult & { error: string | null } => ({
  name: given.name,
  type: given.type,
  score: value,
  passed: error === null && value >= thresholdOf(given),
  sample: null,
  error,
  explanation,
});
