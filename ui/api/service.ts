import type { ExportFrame, LogFrame, Series } from './frames.ts';
import { request, requestText } from './request.ts';
import type {
  CheckedModel,
  Dataset,
  DatasetDetail,
  Estimate,
  Generated,
  HardwareSpecs,
  Info,
  Job,
  JobDetail,
  JobPage,
  Model,
  ModelDetail,
  ModelFile,
  Preview,
  RecommendedModels,
  RecommendedSettings,
  Started,
} from './types.ts';

const part = encodeURIComponent;

/** A training request: the three that are required, and whichever settings were changed. */
export type TrainingBody = {
  readonly task: string;
  readonly model_name: string;
  readonly dataset: string;
  readonly [setting: string]: unknown;
};

/** The calls that the page makes, one per route. Each throws `ServiceError`. */
export const service = {
  info: () => request<Info>('/api/info'),
  hardware: () => request<HardwareSpecs>('/api/finetune/hardware_specs'),
  settings: () => request<RecommendedSettings>('/api/finetune/load_settings'),
  recommendedModels: (task: string) =>
    request<RecommendedModels>(`/api/finetune/recommended_models/${part(task)}`),
  checkModel: (name: string, signal: AbortSignal) =>
    request<CheckedModel>('/api/finetune/validate_custom_model', {
      method: 'POST',
      body: { repo_name: name },
      signal,
    }),
  dataset: (name: string) => request<DatasetDetail>(`/api/datasets/${part(name)}?rows=8`),
  preview: (name: string, body: Readonly<Record<string, unknown>>) =>
    request<Preview>(`/api/datasets/${part(name)}/preview`, { method: 'POST', body }),
  convertDataset: (name: string) =>
    request<DatasetDetail>(`/api/datasets/${part(name)}/convert`, { method: 'POST' }),
  removeDataset: (name: string) =>
    request<{ message: string }>(`/api/datasets/${part(name)}`, { method: 'DELETE' }),
  estimate: (body: TrainingBody, signal: AbortSignal) =>
    request<Estimate>('/api/estimate', { method: 'POST', body, signal }),
  datasets: async () => (await request<{ datasets: Dataset[] }>('/api/datasets')).datasets,

  start: (body: TrainingBody) => request<Started>('/api/finetune/start_training', { method: 'POST', body }),
  stop: (jobId: string) => request<Job>(`/api/jobs/${part(jobId)}/stop`, { method: 'POST' }),
  jobs: (limit: number, offset = 0) => request<JobPage>(`/api/jobs?limit=${limit}&offset=${offset}`),
  job: (jobId: string) => request<JobDetail>(`/api/jobs/${part(jobId)}`),
  series: (jobId: string, points: number) =>
    request<Series>(`/api/jobs/${part(jobId)}/metrics?points=${points}`),
  log: (jobId: string, bytes: number) => requestText(`/api/jobs/${part(jobId)}/log?bytes=${bytes}`),
  events: (jobId: string) =>
    request<{ events: (LogFrame | ExportFrame)[] }>(`/api/jobs/${part(jobId)}/events`),
  resume: (jobId: string) => request<Job>(`/api/jobs/${part(jobId)}/resume`, { method: 'POST' }),
  removeJob: (jobId: string) =>
    request<{ message: string }>(`/api/jobs/${part(jobId)}`, { method: 'DELETE' }),

  models: () => request<Model[]>('/api/models/'),
  model: (modelId: string) => request<ModelDetail>(`/api/models/${part(modelId)}`),
  modelFiles: async (modelId: string) =>
    (await request<{ files: ModelFile[] }>(`/api/models/${part(modelId)}/files`)).files,
  /** Where a file of a model is downloaded from. */
  modelFilePath: (modelId: string, name: string) => `/api/models/${part(modelId)}/files/${part(name)}`,
  removeModel: (modelId: string) =>
    request<{ message: string }>(`/api/models/${part(modelId)}`, { method: 'DELETE' }),
  quantize: (modelId: string, type: string) =>
    request<{ message: string }>(`/api/models/${part(modelId)}/quantize`, { method: 'POST', body: { type } }),
  push: (body: { model_id: string; repo_name: string; private: boolean }) =>
    request<{ message: string; repo_url: string }>('/api/hub/push', { method: 'POST', body }),

  generate: (
    asBase: boolean,
    body: { model_id: string; prompt: string; max_length: number; temperature: number; top_p: number },
    signal: AbortSignal,
  ) =>
    request<Generated>(asBase ? '/api/playground/base' : '/api/playground/new', {
      method: 'POST',
      body,
      signal,
    }),
};
