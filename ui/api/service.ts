import type { ExportFrame, LogFrame, Series } from './frames.ts';
import { request, requestText } from './request.ts';
import type {
  CheckedModel,
  Choices,
  Dataset,
  DatasetDetail,
  Estimate,
  Example,
  Generated,
  HardwareSpecs,
  Info,
  Job,
  JobDetail,
  JobPage,
  Lineage,
  Model,
  ModelDetail,
  Preview,
  Recommendations,
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
  choices: () => request<Choices>('/api/choices'),
  recommendations: (task: string) => request<Recommendations>(`/api/recommendations?task=${part(task)}`),
  examples: async () => (await request<{ examples: Example[] }>('/api/examples')).examples,
  /** Puts an example among the datasets. */
  useExample: (name: string) =>
    request<{ filename: string }>(`/api/examples/${part(name)}`, { method: 'POST' }),
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
  /** Stops a job with a checkpoint, or with `discard` deletes it once it has ended. */
  stop: (jobId: string, discard = false) =>
    request<Job>(`/api/jobs/${part(jobId)}/stop`, { method: 'POST', body: { discard } }),
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
  lineage: (modelId: string) => request<Lineage>(`/api/models/${part(modelId)}/lineage`),
  modelFilePath: (modelId: string, name: string) => `/api/models/${part(modelId)}/files/${part(name)}`,
  removeModel: (modelId: string) =>
    request<{ message: string }>(`/api/models/${part(modelId)}`, { method: 'DELETE' }),
  quantize: (modelId: string, type: string) =>
    request<{ message: string }>(`/api/models/${part(modelId)}/quantize`, { method: 'POST', body: { type } }),
  push: (body: { model_id: string; repo_name: string; private: boolean }) =>
    request<{ message: string; repo_url: string }>('/api/hub/push', { method: 'POST', body }),

  cancelPush: (modelId: string) =>
    request<{ status: string; message: string }>(`/api/models/${part(modelId)}/push/cancel`, {
      method: 'POST',
    }),

  /** Answers as the model did before it was trained. */
  generateAsBase: (
    body: { model_id: string; prompt: string; max_length: number; temperature: number; top_p: number },
    signal: AbortSignal,
  ) => request<Generated>('/api/playground/base', { method: 'POST', body, signal }),
};
