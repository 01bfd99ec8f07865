import * as v from 'valibot';

export type { Verification } from '../../contract/journal.ts';
export { preview } from '../../domain/training/previewer.ts';
export * from './access-schemas.ts';
export * from './dataset-schemas.ts';
export type * from './frame-schemas.ts';
export { series } from './frame-schemas.ts';
export * from './job-schemas.ts';
export * from './machine-schemas.ts';
export * from './model-schemas.ts';

export const error = v.object({ error: v.string(), detail: v.string(), status_code: v.number() });

export const openApiDocument = v.looseObject({
  openapi: v.string(),
  info: v.object({ title: v.string(), version: v.string() }),
  paths: v.record(v.string(), v.looseObject({})),
});
export type OpenApiDocument = v.InferOutput<typeof openApiDocument>;
