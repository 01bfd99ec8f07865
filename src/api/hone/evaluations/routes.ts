import { type Evaluation, evaluationName } from '../../../domain/evaluations/evaluation.ts';
import {
  evaluationExample,
  evaluationPaths,
  evaluationRequest,
} from '../../../domain/evaluations/evaluation-request.ts';
import { jobName } from '../../../domain/job-record/job.ts';
import type { Services } from '../../../domain/services.ts';
import { AppError } from '../../../errors.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { confirmation, errorBody, tag } from '../common.ts';
import * as s from './schemas.ts';

const noEvaluation: ResponseDoc = { description: 'Evaluation not found', schema: errorBody };

/** @throws AppError `not_found` if it is not an evaluation's id. */
function evaluationNumber(name: string): number {
  const matched = /^eval_(\d{1,15})$/.exec(name);
  if (matched === null) throw new AppError('not_found', `There is no evaluation ${name.slice(0, 100)}.`);
  return Number(matched[1]);
}

/** Evaluations: datasets that are scored with a model, a checkpoint or a base model. */
export function evaluationRoutes({ evaluations }: Services) {
  const detail = (id: number): s.EvaluationDetail => ({
    ...presentEvaluation(evaluations.get(id)),
    results: evaluations.results(id),
  });
  return [
    route({
      method: 'POST',
      path: '/api/evaluations',
      tag,
      summary: 'Score a dataset with a model, a checkpoint or a base model',
      body: evaluationRequest,
      paths: evaluationPaths,
      moreFaults: evaluations.faults,
      bodyExample: evaluationExample,
      responses: {
        200: { description: 'The evaluation is queued or running', schema: s.evaluation },
        400: { description: 'Invalid request or dataset', schema: errorBody },
        404: { description: 'Model not found', schema: errorBody },
        409: { description: 'The queue is full', schema: errorBody },
      },
      handle: async ({ body }) => detail((await evaluations.start(body)).id),
    }),
    route({
      method: 'GET',
      path: '/api/evaluations',
      tag,
      summary: 'List the evaluations, newest first',
      responses: { 200: { description: 'The evaluations', schema: s.evaluationList } },
      handle: () => ({ evaluations: evaluations.list().map(presentEvaluation) }),
    }),
    route({
      method: 'GET',
      path: '/api/evaluations/{evaluation_id}',
      tag,
      summary: 'Get an evaluation with the results of its first rows',
      responses: { 200: { description: 'The evaluation', schema: s.evaluation }, 404: noEvaluation },
      handle: ({ params }) => detail(evaluationNumber(params.evaluation_id)),
    }),
    route({
      method: 'DELETE',
      path: '/api/evaluations/{evaluation_id}',
      tag,
      summary: 'Delete an evaluation; one that is queued or running is cancelled',
      responses: {
        200: { description: 'The evaluation was deleted', schema: confirmation },
        404: noEvaluation,
      },
      handle: async ({ params }) => {
        await evaluations.remove(evaluationNumber(params.evaluation_id));
        return { status: 'deleted', message: `${params.evaluation_id} was deleted` };
      },
    }),
  ];
}

function presentEvaluation(evaluation: Evaluation): s.EvaluationSummary {
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
