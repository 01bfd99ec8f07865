import { call, pathOf } from './call.ts';
import type { Body, Input } from './routes.ts';

/** A training request: the three required fields and the changed settings. */
export type TrainingBody = Body<'POST /api/finetune/start_training'>;
/** A request to score a dataset. */
export type EvaluationBody = Body<'POST /api/evaluations'>;
/** The definition of a grader. */
export type GraderBody = Body<'POST /api/graders'>;
/** A training request with a space of settings. */
export type SweepBody = Body<'POST /api/sweeps'>;

/** Which kept answers become rows, and of what kind. */
export type AnswerRowsBody = Body<'POST /api/traffic/rows'>;

/** A request to make rows of documents, or variants of rows. */
export type MakingBody = Body<'POST /api/document_rows'>;

/** The calls that the page makes, typed by the route table. Each throws `ServiceError`. */
export const service = {
  session: () => call('GET /api/session'),
  signIn: (key: string) => call('POST /api/session', { body: { key } }),
  signOut: () => call('DELETE /api/session'),
  keys: async () => (await call('GET /api/keys')).keys,
  addKey: (body: Body<'POST /api/keys'>) => call('POST /api/keys', { body }),
  setRecording: (id: string, recording: boolean) =>
    call('PATCH /api/keys/{id}', { path: { id }, body: { recording } }),
  removeKey: (id: string) => call('DELETE /api/keys/{id}', { path: { id } }),

  /** The chats with a model, the latest first. @param search a text that they have. */
  chats: async (modelId: string, search = '') =>
    (await call('GET /api/playground/chats', { query: { model_id: modelId, search } })).chats,
  /** The chats of models that were deleted. */
  chatsOfDeleted: async (search = '') =>
    (await call('GET /api/playground/chats', { query: { model_deleted: 'true', search } })).chats,
  chat: (id: string) => call('GET /api/playground/chats/{chat_id}', { path: { chat_id: id } }),
  putChat: (id: string, body: Body<'PUT /api/playground/chats/{chat_id}'>) =>
    call('PUT /api/playground/chats/{chat_id}', { path: { chat_id: id }, body, keepalive: true }),
  changeChat: (id: string, body: Body<'PATCH /api/playground/chats/{chat_id}'>) =>
    call('PATCH /api/playground/chats/{chat_id}', { path: { chat_id: id }, body, keepalive: true }),
  removeChat: (id: string) => call('DELETE /api/playground/chats/{chat_id}', { path: { chat_id: id } }),
  bin: () => call('GET /api/bin'),
  restore: (id: string) => call('POST /api/bin/{id}/restore', { path: { id } }),
  purge: (id: string) => call('DELETE /api/bin/{id}', { path: { id } }),
  emptyBin: () => call('DELETE /api/bin'),
  answerFigures: () => call('GET /api/playground/figures'),
  stopPreparing: () => call('DELETE /api/playground/preparing'),
  info: () => call('GET /api/info'),
  hardware: () => call('GET /api/finetune/hardware_specs'),
  settings: () => call('GET /api/finetune/load_settings'),
  choices: () => call('GET /api/choices'),
  recommendations: (task: string) => call('GET /api/recommendations', { query: { task } }),
  examples: async () => (await call('GET /api/examples')).examples,
  /** Adds an example to the datasets. */
  useExample: (name: string) => call('POST /api/examples/{name}', { path: { name } }),
  /** The base models on this machine. */
  baseModels: async () => (await call('GET /api/base_models')).models,
  teachers: async (model_name: string) =>
    (await call('GET /api/teachers', { query: { model_name } })).teachers,
  modelDownloads: async () => (await call('GET /api/base_models/downloads')).downloads,
  downloadModel: (model: string) => call('POST /api/base_models/downloads', { body: { model } }),
  /** Cancels a download, and forgets it. */
  removeDownload: (id: string) => call('DELETE /api/base_models/downloads/{id}', { path: { id } }),
  removeBaseModel: (model: string) => call('DELETE /api/base_models', { query: { model } }),
  /** How a base model answers, by the name that it is asked by. */
  baseAnswers: (name: string) => call('GET /api/base_models/answers', { query: { name } }),
  checkModel: (model: string, signal: AbortSignal, mergeAdapter = false) =>
    call('POST /api/base_models/check', { body: { model, merge_adapter: mergeAdapter }, signal }),
  /** A dataset with some of its rows: by default the first few. */
  dataset: (
    name: string,
    query: Input<'GET /api/datasets/{name}'>['query'] = { rows: 8 },
    signal?: AbortSignal,
  ) => call('GET /api/datasets/{name}', { path: { name }, query, signal }),
  preview: (name: string, body: Body<'POST /api/datasets/{name}/preview'>) =>
    call('POST /api/datasets/{name}/preview', { path: { name }, body }),
  /** Aborting cancels the analysis. */
  analyse: (name: string, body: Body<'POST /api/datasets/{name}/analysis'>, signal: AbortSignal) =>
    call('POST /api/datasets/{name}/analysis', { path: { name }, body, signal }),
  splitDataset: (name: string, body: Body<'POST /api/datasets/{name}/split'>) =>
    call('POST /api/datasets/{name}/split', { path: { name }, body }),
  /** Adds rows to a dataset, or makes one of them. */
  addRows: (name: string, rows: Body<'POST /api/datasets/{name}/rows'>['rows']) =>
    call('POST /api/datasets/{name}/rows', { path: { name }, body: { rows } }),
  datasetRow: (name: string, line: number) =>
    call('GET /api/datasets/{name}/rows/{line}', { path: { name, line: String(line) } }),
  editRows: (name: string, body: Body<'PATCH /api/datasets/{name}/rows'>) =>
    call('PATCH /api/datasets/{name}/rows', { path: { name }, body }),
  flagRows: (name: string, body: Body<'PATCH /api/datasets/{name}/flags'>) =>
    call('PATCH /api/datasets/{name}/flags', { path: { name }, body }),
  cleanRows: (name: string, body: Body<'POST /api/datasets/{name}/cleaning'>) =>
    call('POST /api/datasets/{name}/cleaning', { path: { name }, body }),
  takeBackCleaning: (name: string) => call('DELETE /api/datasets/{name}/cleaning', { path: { name } }),
  renameDataset: (name: string, filename: string) =>
    call('PATCH /api/datasets/{name}', { path: { name }, body: { filename } }),
  copyDataset: (name: string) => call('POST /api/datasets/{name}/copies', { path: { name } }),
  datasetFilePath: (name: string) => pathOf('GET /api/datasets/{name}/file', { path: { name } }),
  removeDataset: (name: string, permanently = false) =>
    call('DELETE /api/datasets/{name}', { path: { name }, query: { permanently: `${permanently}` } }),
  datasetVersions: async (name: string) =>
    (await call('GET /api/datasets/{name}/versions', { path: { name } })).versions,
  datasetVersion: (
    name: string,
    sha256: string,
    query: Input<'GET /api/datasets/{name}/versions/{sha256}'>['query'],
    signal: AbortSignal,
  ) => call('GET /api/datasets/{name}/versions/{sha256}', { path: { name, sha256 }, query, signal }),
  versionFilePath: (name: string, sha256: string) =>
    pathOf('GET /api/datasets/{name}/versions/{sha256}/file', { path: { name, sha256 } }),
  /** @param version of the rows that are replaced. */
  restoreVersion: (name: string, sha256: string, version: string) =>
    call('POST /api/datasets/{name}/versions/{sha256}/restore', {
      path: { name, sha256 },
      body: { version },
    }),
  hubDataset: (repo: string) => call('GET /api/hub/dataset', { query: { repo } }),
  move: () => call('GET /api/move/openai'),
  listMove: (key: string) => call('POST /api/move/openai/list', { body: { api_key: key } }),
  startMove: (body: Body<'POST /api/move/openai'>) => call('POST /api/move/openai', { body }),
  cancelMove: () => call('DELETE /api/move/openai'),
  addImport: (body: Body<'POST /api/imports'>) => call('POST /api/imports', { body }),
  imports: async () => (await call('GET /api/imports')).imports,
  import: (id: string) => call('GET /api/imports/{id}', { path: { id } }),
  previewImport: (id: string, body: Body<'POST /api/imports/{id}/preview'>) =>
    call('POST /api/imports/{id}/preview', { path: { id }, body }),
  startImport: (id: string, body: Body<'POST /api/imports/{id}/start'>) =>
    call('POST /api/imports/{id}/start', { path: { id }, body }),
  removeImport: (id: string) => call('DELETE /api/imports/{id}', { path: { id } }),
  estimate: (body: TrainingBody, signal: AbortSignal) => call('POST /api/estimate', { body, signal }),
  datasets: async () => (await call('GET /api/datasets')).datasets,

  start: (body: TrainingBody) => call('POST /api/finetune/start_training', { body }),
  /** Stops a job and saves a checkpoint; with `discard`, deletes it after it has stopped. */
  stop: (jobId: string, discard = false) =>
    call('POST /api/jobs/{job_id}/stop', { path: { job_id: jobId }, body: { discard } }),
  jobs: (query: Input<'GET /api/jobs'>['query'], signal?: AbortSignal) =>
    call('GET /api/jobs', { query, signal }),
  jobFacets: () => call('GET /api/jobs/facets'),
  identifyJob: (jobId: string, body: Body<'PATCH /api/jobs/{job_id}'>) =>
    call('PATCH /api/jobs/{job_id}', { path: { job_id: jobId }, body }),
  job: (jobId: string) => call('GET /api/jobs/{job_id}', { path: { job_id: jobId } }),
  series: (jobId: string, points: number) =>
    call('GET /api/jobs/{job_id}/metrics', { path: { job_id: jobId }, query: { points } }),
  log: (jobId: string, bytes: number) =>
    call('GET /api/jobs/{job_id}/log', { path: { job_id: jobId }, query: { bytes } }),
  jobData: (jobId: string) => call('GET /api/jobs/{job_id}/data', { path: { job_id: jobId } }),
  events: (jobId: string) => call('GET /api/jobs/{job_id}/events', { path: { job_id: jobId } }),
  /** Resumes a job; with `queue` it waits for the one that is running. */
  resume: (jobId: string, queue = false) =>
    call('POST /api/jobs/{job_id}/resume', { path: { job_id: jobId }, body: { queue } }),
  removeJob: (jobId: string, permanently = false) =>
    call('DELETE /api/jobs/{job_id}', { path: { job_id: jobId }, query: { permanently: `${permanently}` } }),

  sweeps: async () => (await call('GET /api/sweeps')).sweeps,
  sweep: (id: string) => call('GET /api/sweeps/{sweep_id}', { path: { sweep_id: id } }),
  startSweep: (body: SweepBody) => call('POST /api/sweeps', { body }),
  stopSweep: (id: string) => call('POST /api/sweeps/{sweep_id}/stop', { path: { sweep_id: id } }),
  removeSweep: (id: string, permanently = false) =>
    call('DELETE /api/sweeps/{sweep_id}', {
      path: { sweep_id: id },
      query: { permanently: `${permanently}` },
    }),

  graders: async () => (await call('GET /api/graders')).graders,
  addGrader: (body: GraderBody) => call('POST /api/graders', { body }),
  removeGrader: (name: string) => call('DELETE /api/graders/{name}', { path: { name } }),
  testGrader: (body: Body<'POST /api/graders/test'>) => call('POST /api/graders/test', { body }),
  evaluations: async () => (await call('GET /api/evaluations')).evaluations,
  evaluation: (id: string) => call('GET /api/evaluations/{evaluation_id}', { path: { evaluation_id: id } }),
  startEvaluation: (body: EvaluationBody) => call('POST /api/evaluations', { body }),
  judgePairs: (body: Body<'POST /api/evaluations/pairs'>) => call('POST /api/evaluations/pairs', { body }),
  removeEvaluation: (id: string) =>
    call('DELETE /api/evaluations/{evaluation_id}', { path: { evaluation_id: id } }),

  models: async () => (await call('GET /api/catalog')).models,
  modelFacets: () => call('GET /api/catalog/facets'),
  identifyModel: (modelId: string, body: Body<'PATCH /api/catalog/{model_id}'>) =>
    call('PATCH /api/catalog/{model_id}', { path: { model_id: modelId }, body }),
  model: (modelId: string) => call('GET /api/models/{model_id}', { path: { model_id: modelId } }),
  lineage: (modelId: string) => call('GET /api/models/{model_id}/lineage', { path: { model_id: modelId } }),
  modelFilePath: (modelId: string, name: string) =>
    pathOf('GET /api/models/{model_id}/files/{name}', { path: { model_id: modelId, name } }),
  removeModel: (modelId: string, permanently = false) =>
    call('DELETE /api/models/{model_id}', {
      path: { model_id: modelId },
      query: { permanently: `${permanently}` },
    }),
  modelExport: (modelId: string) =>
    call('GET /api/models/{model_id}/export', { path: { model_id: modelId } }),
  exportModel: (modelId: string, body: Body<'POST /api/models/{model_id}/export'>) =>
    call('POST /api/models/{model_id}/export', { path: { model_id: modelId }, body }),
  cancelExport: (modelId: string) =>
    call('DELETE /api/models/{model_id}/export', { path: { model_id: modelId } }),
  push: (body: Body<'POST /api/hub/push'>) => call('POST /api/hub/push', { body }),
  /** The card that a push of a model would have. @param repository as owner/name. */
  modelCard: (modelId: string, repository: string) =>
    call('GET /api/models/{model_id}/card', {
      path: { model_id: modelId },
      query: { repo_name: repository },
    }),
  hubAccount: () => call('GET /api/hub/account'),
  setHubToken: (token: string) => call('PUT /api/hub/token', { body: { token } }),
  removeHubToken: () => call('DELETE /api/hub/token'),
  evals: () => call('GET /v1/evals', { query: { limit: 100, order: 'desc' } }),
  eval: (id: string) => call('GET /v1/evals/{eval_id}', { path: { eval_id: id } }),
  removeEval: (id: string) => call('DELETE /v1/evals/{eval_id}', { path: { eval_id: id } }),
  evalRuns: (id: string) =>
    call('GET /v1/evals/{eval_id}/runs', { path: { eval_id: id }, query: { limit: 100, order: 'desc' } }),
  removeEvalRun: (id: string, run: string) =>
    call('DELETE /v1/evals/{eval_id}/runs/{run_id}', { path: { eval_id: id, run_id: run } }),
  /** A page of the rows of a run. @param after the last one of the page before. */
  evalItems: (id: string, run: string, after?: string) =>
    call('GET /v1/evals/{eval_id}/runs/{run_id}/output_items', {
      path: { eval_id: id, run_id: run },
      query: { limit: 20, order: 'asc', after },
    }),
  keptAnswers: (query: Input<'GET /api/traffic'>['query'], signal: AbortSignal) =>
    call('GET /api/traffic', { query, signal }),
  keptFacets: () => call('GET /api/traffic/facets'),
  keptAnswer: (id: string) => call('GET /api/traffic/{completion_id}', { path: { completion_id: id } }),
  /** Rates or corrects a kept answer. */
  judgeAnswer: (id: string, body: Body<'POST /v1/chat/completions/{completion_id}/feedback'>) =>
    call('POST /v1/chat/completions/{completion_id}/feedback', { path: { completion_id: id }, body }),
  removeAnswer: (id: string) =>
    call('DELETE /v1/chat/completions/{completion_id}', { path: { completion_id: id } }),
  /** Counts the rows that kept answers would make. */
  countAnswerRows: (body: AnswerRowsBody, signal: AbortSignal) =>
    call('POST /api/traffic/rows', { body, signal }),
  makeAnswerRows: (name: string, body: AnswerRowsBody) =>
    call('POST /api/datasets/{name}/answers', { path: { name }, body }),
  judgeKeys: () => call('GET /api/judge_keys'),
  setJudgeKey: (url: string, key: string) => call('PUT /api/judge_keys', { body: { url, key } }),
  removeJudgeKey: (url: string) => call('DELETE /api/judge_keys', { query: { url } }),
  documents: async () => (await call('GET /api/documents')).documents,
  removeDocument: (id: string) => call('DELETE /api/documents/{document_id}', { path: { document_id: id } }),
  estimateRows: (body: MakingBody, signal: AbortSignal) =>
    call('POST /api/document_rows/estimate', { body, signal }),
  makeRows: (body: MakingBody) => call('POST /api/document_rows', { body }),
  rowMakings: async () => (await call('GET /api/document_rows')).makings,
  stopMaking: (id: string) => call('POST /api/document_rows/{making_id}/stop', { path: { making_id: id } }),
  resumeMaking: (id: string) =>
    call('POST /api/document_rows/{making_id}/resume', { path: { making_id: id } }),
  removeMaking: (id: string) => call('DELETE /api/document_rows/{making_id}', { path: { making_id: id } }),
  remoteModels: () => call('GET /api/remote_models'),
  addRemoteModel: (body: Body<'POST /api/remote_models'>) => call('POST /api/remote_models', { body }),
  removeRemoteModel: (name: string) => call('DELETE /api/remote_models/{name}', { path: { name } }),
  aliases: async () => (await call('GET /api/aliases')).aliases,
  /** Makes an alias, or moves it. */
  moveAlias: (name: string, model: string) => call('POST /api/aliases', { body: { name, model } }),
  undoAlias: (name: string) => call('POST /api/aliases/{name}/undo', { path: { name } }),
  splitAlias: (name: string, body: Body<'POST /api/aliases/{name}/split'>) =>
    call('POST /api/aliases/{name}/split', { path: { name }, body }),
  gradeSplit: (name: string, body: Body<'POST /api/aliases/{name}/split/grade'>, signal?: AbortSignal) =>
    call('POST /api/aliases/{name}/split/grade', { path: { name }, body, signal }),
  endSplit: (name: string) => call('DELETE /api/aliases/{name}/split', { path: { name } }),
  removeAlias: (name: string) => call('DELETE /api/aliases/{name}', { path: { name } }),
  /** The trained models, those of other services, and the aliases, as clients list them. */
  listedModels: async () => (await call('GET /v1/models')).data,
  cancelPush: (modelId: string) =>
    call('POST /api/models/{model_id}/push/cancel', { path: { model_id: modelId } }),
};
