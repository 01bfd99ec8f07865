import * as v from 'valibot';

export const openApiDocument = v.looseObject({
  openapi: v.string(),
  info: v.object({ title: v.string(), version: v.string() }),
  paths: v.record(v.string(), v.looseObject({})),
});
export type OpenApiDocument = v.InferOutput<typeof openApiDocument>;
