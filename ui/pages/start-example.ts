import { request } from '../api/request.ts';
import { service } from '../api/service.ts';
import { uploadDataset } from '../api/upload.ts';
import { datasets, hardware } from '../state/app.ts';

const exampleName = 'support.jsonl';
const examplePath = `/examples/${exampleName}`;
const task = 'text-generation';
/** Trains in minutes without a GPU; where there is one, the recommended model does, too. */
const processorModel = 'HuggingFaceTB/SmolLM2-135M-Instruct';

/** Whether the service has the example at hand. */
export async function hasExample(): Promise<boolean> {
  return fetch(examplePath, { method: 'HEAD' }).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** The base model for a first training on this machine. */
export async function exampleModel(): Promise<string> {
  const { recommended_model, possible_models } = await service.recommendedModels(task);
  const small = (hardware.value.value?.gpu_memory_gb ?? 0) === 0;
  return small && possible_models.includes(processorModel) ? processorModel : recommended_model;
}

/** Uploads the example and starts a training on it. @returns the job's id. */
export async function startExample(modelName: string): Promise<string> {
  const rows = await fetch(examplePath).then((response) => response.blob());
  const file = new File([rows], exampleName, { type: 'application/jsonl' });
  const uploaded = await uploadDataset(file, () => undefined, new AbortController().signal);
  void datasets.refresh();
  const { job_id } = await service.start({ task, model_name: modelName, dataset: uploaded.filename });
  // What the form would offer next is this model, so that a second run is one change away.
  void request('/api/finetune/set_model', { method: 'POST', body: { selected_model: modelName } }).catch(
    () => undefined,
  );
  return job_id;
}
