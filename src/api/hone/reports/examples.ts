const page = (title: string) =>
  `<!doctype html>\n<html lang="en">\n<head><title>${title} – Hone</title></head>\n…\n</html>\n`;

/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/jobs/{job_id}/report': page('support · 3 epochs · 2e-4'),
  'GET /api/jobs/report': page('2 runs compared'),
  'GET /api/evaluations/report': page('2 evaluations compared'),
};
