import { request } from '../api/request.ts';
import { service } from '../api/service.ts';
import { datasets, offers } from '../state/app.ts';

const listRoute = 'GET /api/examples';

/** A dataset that comes with the service, and the base model for a first training on it here. */
export interface Example {
  readonly name: string;
  readonly task: string;
  readonly num_examples: number;
  readonly sentence: string;
  readonly model_name: string;
}

/** The example for a newcomer, where the service has one. */
export async function readExample(): Promise<Example | null> {
  if (!offers.value.has(listRoute)) return null;
  const { examples } = await request<{ examples: Example[] }>('/api/examples');
  return examples[0] ?? null;
}

/** Puts the example among the datasets and starts a training on it. @returns the job's id. */
export async function startExample({ name, task, model_name }: Example): Promise<string> {
  const { filename } = await request<{ filename: string }>(`/api/examples/${encodeURIComponent(name)}`, {
    method: 'POST',
  });
  void datasets.refresh();
  return (await service.start({ task, model_name, dataset: filename })).job_id;
}
