import { type Evaluation, evaluationName } from '../../../domain/evaluations/evaluation.ts';
import { jobName } from '../../../domain/job-record/job.ts';
import type { Services } from '../../../domain/services.ts';
import { AppError } from '../../../errors.ts';
import type * as s from './schemas.ts';

/** @throws AppError `not_found` if it is not an evaluation's id. */
export function evaluationNumber(name: string): number {
  const matched = /^eval_(\d{1,15})$/.exec(name);
  if (matched === null) throw new AppError('not_found', `There is no evaluation ${name.slice(0, 100)}.`);
  return Number(matched[1]);
}

/** An evaluation with the results of its first rows. @throws AppError `not_found`. */
export const presentDetail = (evaluations: Services['evaluations'], id: number): s.EvaluationDetail => ({
  ...presentEvaluation(evaluations.get(id)),
  results: evaluations.results(id),
});

/** An evaluation without its results. */
export function presentEvaluation(evaluation: Evaluation): s.EvaluationSummary {
  const { subject, progress } = evaluation;
  return {
    evaluation_id: evaluationName(evaluation.id),
    state: evaluation.state,
    error: evaluation.error,
    name: subject.name,
    base_model: subject.baseModel,
    model_id: subject.modelId,
    job_id: subject.jobId === null ? null : jobName(subject.jobId),
    checkpoint: subject.checkpoint,
    dataset: evaluation.dataset,
    rows_digest: evaluation.rowsDigest,
    row_shape: evaluation.shape as s.EvaluationSummary['row_shape'],
    rows: evaluation.rows,
    phase: progress?.phase ?? null,
    progress: progress?.share ?? null,
    detail: progress?.detail ?? null,
    figures: evaluation.figures === null ? null : { ...evaluation.figures },
    warnings: [...evaluation.warnings],
    created_at: evaluation.createdAt,
    started_at: evaluation.startedAt,
    ended_at: evaluation.endedAt,
  };
}
