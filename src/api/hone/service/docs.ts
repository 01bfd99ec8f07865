type Json = Readonly<Record<string, unknown>>;

const escapeHtml = (text: unknown) =>
  String(text).replace(
    /[&<>"]/g,
    (found) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[found] as string,
  );

interface Media {
  readonly schema?: unknown;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

const pretty = (value: unknown) =>
  `<pre>${escapeHtml(typeof value === 'string' ? value : JSON.stringify(value, null, 2))}</pre>`;

/** The first content type of a body: its examples and a collapsed schema. */
const bodyText = (content: unknown) => {
  const [type, media] = Object.entries((content ?? {}) as Record<string, Media>)[0] ?? ['', {}];
  const examples = Object.values(media.examples ?? {}).map(({ value }) => value);
  if (media.example !== undefined) examples.push(media.example);
  const schema =
    media.schema === undefined
      ? ''
      : `<details><summary>${escapeHtml(type)}</summary>${pretty(media.schema)}</details>`;
  return examples.map(pretty).join('') + schema;
};

/** The OpenAPI document as plain HTML without scripts. */
export function presentDocs(document: Json): string {
  const sections = Object.entries(document.paths as Record<string, Record<string, Json>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const body = operation.requestBody as { content?: unknown } | undefined;
        const answers = Object.entries(
          operation.responses as Record<string, { description: string; content?: unknown }>,
        )
          .map(
            ([status, { description, content }]) =>
              `<li><b>${escapeHtml(status)}</b> ${escapeHtml(description)}${Number(status) < 300 ? bodyText(content) : ''}</li>`,
          )
          .join('');
        return `<section><h2><code>${escapeHtml(method.toUpperCase())} ${escapeHtml(path)}</code></h2><p>${escapeHtml(operation.summary)}</p>${body ? `<h3>Request body</h3>${bodyText(body.content)}` : ''}<h3>Responses</h3><ul>${answers}</ul></section>`;
      }),
  );
  const { path, summary } = document['x-websocket'] as { path: string; summary: string };
  const { schemas } = document.components as { schemas: Record<string, unknown> };
  const frames = Object.entries(schemas)
    .map(([name, schema]) => bodyText({ [name]: { schema } }))
    .join('');
  const socket = `<section><h2><code>WebSocket ${escapeHtml(path)}</code></h2><p>${escapeHtml(summary)}.</p><h3>Frames</h3>${frames}</section>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Hone: API</title></head><body><main><h1>Hone: API</h1><p>OpenAPI document: <a href="/api/openapi.json">openapi.json</a></p>${sections.join('')}${socket}</main></body></html>`;
}
