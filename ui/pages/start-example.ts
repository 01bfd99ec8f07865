import { service } from '../api/service.ts';
import type { Example } from '../api/types.ts';
import { datasets } from '../state/app.ts';

/** Puts an example among the datasets and starts a training on it. @returns the job's id. */
export async function startExample({ name, task, strategy, model_name, settings }: Example): Promise<string> {
  const { filename } = await service.useExample(name);
  void datasets.refresh();
  return (await service.start({ task, strategy, model_name, dataset: filename, ...settings })).job_id;
}
