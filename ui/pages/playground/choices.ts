import type { Job } from '../../api/types.ts';
import { formatBytes } from '../../elements/format.ts';
import { baseModels, jobs, models } from '../../state/app.ts';
import { isEnded, stateName } from '../../state/runs/job-words.ts';

/** A model, a run whose checkpoints can be asked, or a base model. */
export interface ModelChoice {
  /** That of the model, also of one that a run has not made yet; of a base model the name that it is asked by. */
  readonly modelId: string;
  readonly name: string;
  readonly task: string;
  readonly kind: 'model' | 'run' | 'base';
}

/** Whether something that is chosen is a base model. */
export const isBase = (modelId: string): boolean => modelId.startsWith('base:');

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

/** The base models that answer. */
const baseChoices = (): readonly ModelChoice[] =>
  (baseModels.value.value ?? []).flatMap(({ model, kind, answers_as: modelId, gguf }) => {
    if (modelId === null) return [];
    const name =
      gguf === null
        ? kind === 'starter'
          ? 'Starter model of the demo'
          : model
        : `${gguf.name} (${gguf.program}, ${formatBytes(gguf.bytes)})`;
    return [{ modelId, name, task: '', kind: 'base' as const }];
  });

/**
 * What can be chosen to answer: models first and base models last, or `null` while they are not known.
 * @param chosen what is chosen; the others need not wait for base models.
 */
export function modelChoices(chosen: string): readonly ModelChoice[] | null {
  const known = models.value.value;
  const { value: bases, error } = baseModels.value;
  if (known === null) return null;
  const needsBases = isBase(chosen) || (known.length === 0 && runsWithoutModel().length === 0);
  if (needsBases && bases === null && error === null) return null;
  return [
    ...known.map(({ model_id: modelId, name, display_name, task }) => ({
      modelId,
      task,
      name: `${display_name} (${name})`,
      kind: 'model' as const,
    })),
    ...runsWithoutModel().map(({ model_id: modelId, job_id, display_name, task, state }) => ({
      modelId,
      task,
      name: `${display_name} (${job_id}, ${stateName(state).toLowerCase()})`,
      kind: 'run' as const,
    })),
    ...baseChoices(),
  ];
}
