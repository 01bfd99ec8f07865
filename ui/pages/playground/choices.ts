import type { Job } from '../../api/types.ts';
import { jobs, models } from '../../state/app.ts';
import { isEnded, stateName } from '../../state/runs/job-words.ts';

/** A model, or a run whose checkpoints can be asked. */
export interface ModelChoice {
  /** That of the model, also of one that a run has not made yet. */
  readonly modelId: string;
  readonly name: string;
  readonly task: string;
  readonly isRun: boolean;
}

/**
 * The newest runs that have no model, because they have not ended or were stopped, and may have checkpoints; one that is
 * resumed keeps them while it waits.
 */
export const runsWithoutModel = (): readonly Job[] =>
  jobs.value.value?.jobs.filter(
    ({ state, last_metric, model_id }) =>
      state !== 'completed' &&
      (last_metric !== null || !(isEnded(state) || state === 'queued' || state === 'starting')) &&
      !models.value.value?.some((model) => model.model_id === model_id),
  ) ?? [];

/** What can be chosen to answer: models first, or `null` while they are not known. */
export function modelChoices(): readonly ModelChoice[] | null {
  const known = models.value.value;
  if (known === null) return null;
  return [
    ...known.map(({ model_id: modelId, name, display_name, task }) => ({
      modelId,
      task,
      name: `${display_name} (${name})`,
      isRun: false,
    })),
    ...runsWithoutModel().map(({ model_id: modelId, job_id, display_name, task, state }) => ({
      modelId,
      task,
      name: `${display_name} (${job_id}, ${stateName(state).toLowerCase()})`,
      isRun: true,
    })),
  ];
}
