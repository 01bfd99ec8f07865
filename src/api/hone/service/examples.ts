/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /metrics': '# HELP hone_models Trained models.\n# TYPE hone_models gauge\nhone_models 3\n',
  'GET /api/docs': '<!doctype html><html lang="en">…</html>',
  'GET /api/openapi.json': { openapi: '3.1.0', info: { title: 'Hone', version: 'v2' }, paths: {} },
};
