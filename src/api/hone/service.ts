import type { Services } from '../../domain/services.ts';
import { Reply } from '../../http/reply.ts';
import { route } from '../../http/route.ts';
import { presentDocs } from './docs.ts';
import { presentMetrics } from './metrics.ts';
import * as s from './schemas.ts';
import { tag } from './tag.ts';

/** The service about itself: its figures and its description. */
export function serviceRoutes(services: Services, openApi: () => Readonly<Record<string, unknown>>) {
  return [
    route({
      method: 'GET',
      path: '/metrics',
      tag,
      summary: 'Figures of the service and its training for Prometheus',
      responses: { 200: { description: 'The figures', contentType: 'text/plain' } },
      handle: () => Reply.text(200, presentMetrics(services), 'text/plain; version=0.0.4; charset=utf-8'),
    }),
    route({
      method: 'GET',
      path: '/api/docs',
      tag,
      summary: 'This document as a page',
      responses: { 200: { description: 'The page', contentType: 'text/html' } },
      handle: () => Reply.text(200, presentDocs(openApi()), 'text/html; charset=utf-8'),
    }),
    route({
      method: 'GET',
      path: '/api/openapi.json',
      tag,
      summary: 'This document (OpenAPI 3.1)',
      responses: { 200: { description: 'The description of every route', schema: s.openApiDocument } },
      handle: () => openApi() as s.OpenApiDocument,
    }),
  ];
}
