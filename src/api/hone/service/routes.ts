import type { Services } from '../../../domain/services.ts';
import { Reply } from '../../../http/reply.ts';
import { route } from '../../../http/route.ts';
import { tag } from '../common.ts';
import { presentDocs } from './docs.ts';
import { presentMetrics } from './metrics.ts';
import * as s from './schemas.ts';

/** Metrics and API documentation. */
export function serviceRoutes(services: Services, openApi: () => Readonly<Record<string, unknown>>) {
  return [
    route({
      method: 'GET',
      path: '/metrics',
      tag,
      summary: 'Prometheus metrics',
      responses: { 200: { description: 'The metrics', contentType: 'text/plain' } },
      handle: () => Reply.text(200, presentMetrics(services), 'text/plain; version=0.0.4; charset=utf-8'),
    }),
    route({
      method: 'GET',
      path: '/api/docs',
      tag,
      summary: 'API documentation as a web page',
      responses: { 200: { description: 'The page', contentType: 'text/html' } },
      handle: () => Reply.text(200, presentDocs(openApi()), 'text/html; charset=utf-8'),
    }),
    route({
      method: 'GET',
      path: '/api/openapi.json',
      tag,
      summary: 'API description (OpenAPI 3.1)',
      responses: { 200: { description: 'The OpenAPI document', schema: s.openApiDocument } },
      handle: () => openApi() as s.OpenApiDocument,
    }),
  ];
}
