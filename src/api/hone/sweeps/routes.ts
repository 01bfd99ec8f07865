import { unfinishedStates } from '../../../contract/jobs.ts';
import { deletionQuery } from '../../../domain/bin/deletion-query.ts';
import { displayNameOf } from '../../../domain/job-record/job.ts';
import type { Services } from '../../../domain/services.ts';
import {
  bestOf,
  requestWith,
  type Sweep,
  sweepImportance,
  type Trial,
  trialJobName,
} from '../../../domain/sweeps/sweep.ts';
import { asAsked, sweepExample, sweepRequest } from '../../../domain/sweeps/sweep-request.ts';
import { trainingPaths } from '../../../domain/training/training-request.ts';
import { AppError } from '../../../errors.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { deletion, errorBody, tag } from '../common.ts';
import * as s from './schemas.ts';

const noSweep: ResponseDoc = { description: 'Sweep not found', schema: errorBody };
const conflict: ResponseDoc = { description: 'Not possible in the current state', schema: errorBody };

/** @throws AppError `not_found` if it is not a sweep's id. */
function sweepNumber(name: string): number {
  const matched = /^sweep_(\d{1,15})$/.exec(name);
  if (matched === null) throw new AppError('not_found', `There is no sweep ${name.slice(0, 100)}.`);
  return Number(matched[1]);
}

/** Sweeps: searches for good settings. */
export function sweepRoutes({ sweeps }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/sweeps',
      tag,
      summary: 'Start a sweep: trainings that vary the settings of one request to find the best',
      body: sweepRequest,
      paths: trainingPaths,
      moreFaults: sweeps.faults,
      bodyExample: sweepExample,
      responses: {
        200: { description: 'The sweep started', schema: s.sweep },
        400: { description: 'Invalid request, space or dataset', schema: errorBody },
      },
      handle: async ({ body }) => presentSweep(await sweeps.start(body)),
    }),
    route({
      method: 'GET',
      path: '/api/sweeps',
      tag,
      summary: 'List the sweeps, newest first',
      responses: { 200: { description: 'The sweeps', schema: s.sweepList } },
      handle: () => ({ sweeps: sweeps.list().map(presentSummary) }),
    }),
    route({
      method: 'GET',
      path: '/api/sweeps/{sweep_id}',
      tag,
      summary: 'Get a sweep with its trials, the importance of its settings, and the request of the best',
      responses: { 200: { description: 'The sweep', schema: s.sweep }, 404: noSweep },
      handle: ({ params }) => presentSweep(sweeps.get(sweepNumber(params.sweep_id))),
    }),
    route({
      method: 'POST',
      path: '/api/sweeps/{sweep_id}/stop',
      tag,
      summary: 'Stop a sweep and its current trials, which save checkpoints',
      responses: { 200: { description: 'The sweep stopped', schema: s.sweep }, 404: noSweep, 409: conflict },
      handle: async ({ params }) => presentSweep(await sweeps.stop(sweepNumber(params.sweep_id))),
    }),
    route({
      method: 'DELETE',
      path: '/api/sweeps/{sweep_id}',
      tag,
      summary: 'Delete a sweep with the jobs of its trials; their models are kept',
      query: deletionQuery,
      responses: {
        200: { description: 'The sweep was deleted', schema: deletion },
        404: noSweep,
        409: conflict,
      },
      handle: async ({ params, query }) => {
        const binId = await sweeps.remove(sweepNumber(params.sweep_id), query.permanently);
        return { status: 'deleted', message: `${params.sweep_id} was deleted`, bin_id: binId };
      },
    }),
  ];
}

const presentTrial = (trial: Trial) => ({
  number: trial.number,
  job_id: trialJobName(trial),
  display_name: trial.job === null ? null : displayNameOf(trial.job),
  state: trial.state,
  parameters: trial.parameters as Record<string, number | string | boolean>,
  value: trial.value,
  last_value: trial.evaluations.at(-1)?.value ?? null,
  step: trial.step,
  total_steps: trial.totalSteps,
});

function presentSummary(sweep: Sweep) {
  const best = bestOf(sweep);
  const { request, trialsDone } = sweep;
  return {
    sweep_id: sweep.name,
    state: sweep.state,
    error: sweep.error,
    model_name: request.model_name,
    dataset: request.dataset,
    task: request.task,
    metric: sweep.metric,
    direction: sweep.direction,
    culling: sweep.culling,
    trials: sweep.trials,
    started: trialsDone.length,
    ended: trialsDone.filter(({ job }) => job === null || !unfinishedStates.includes(job.state)).length,
    created_at: sweep.createdAt,
    ended_at: sweep.endedAt,
    best: best === null ? null : presentTrial(best),
  };
}

function presentSweep(sweep: Sweep): s.Sweep {
  const best = bestOf(sweep);
  const { trialsDone, request } = sweep;
  return {
    ...presentSummary(sweep),
    request: asAsked(request),
    space: sweep.space as s.Sweep['space'],
    seed: sweep.seed,
    trials_started: trialsDone.map(presentTrial),
    steps: {
      made: trialsDone.reduce((sum, { step }) => sum + step, 0),
      planned: trialsDone.reduce((sum, { totalSteps }) => sum + (totalSteps ?? 0), 0),
    },
    importance: sweepImportance(sweep),
    best_request: best === null ? null : asAsked(requestWith(sweep, best.parameters)),
  };
}
