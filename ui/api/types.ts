import type { Answer } from './routes.ts';

/** The response types of the routes that the page calls. */
export type JobPage = Answer<'GET /api/jobs'>;
export type Job = JobPage['jobs'][number];
export type JobDetail = Answer<'GET /api/jobs/{job_id}'>;
export type Session = Answer<'GET /api/session'>;
export type AccessKey = Answer<'GET /api/keys'>['keys'][number];
export type NewKey = Answer<'POST /api/keys'>;
export type Info = Answer<'GET /api/info'>;
export type Dataset = Answer<'GET /api/datasets'>['datasets'][number];
export type Model = Answer<'GET /api/models/'>[number];
export type ModelDetail = Answer<'GET /api/models/{model_id}'>;
export type HardwareSpecs = Answer<'GET /api/finetune/hardware_specs'>;
export type RecommendedSettings = Answer<'GET /api/finetune/load_settings'>;
export type CheckedModel = Answer<'POST /api/finetune/validate_custom_model'>;
export type Started = Answer<'POST /api/finetune/start_training'>;
export type Estimate = Answer<'POST /api/estimate'>;
export type DatasetDetail = Answer<'GET /api/datasets/{name}'>;
export type Preview = Answer<'POST /api/datasets/{name}/preview'>;
export type Lineage = Answer<'GET /api/models/{model_id}/lineage'>;
export type ModelFile = Lineage['files'][number];
export type Choices = Answer<'GET /api/choices'>;
export type Recommendations = Answer<'GET /api/recommendations'>;
export type Recommendation = Recommendations['recommendations'][number];
export type Example = Answer<'GET /api/examples'>['examples'][number];
export type Uploaded = Answer<'POST /api/upload_dataset'>;
export type RowFault = Uploaded['validation']['details'][number];
export type Move = Answer<'GET /api/move/openai'>;
