import { Ajv2020 } from 'ajv/dist/2020.js';
import * as assert from 'uvu/assert';
import type { Client, Json } from '../client.ts';

/** One operation of the OpenAPI document. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly description: Json;
}

/** The service's own OpenAPI document, which answers are held against. */
export interface Description {
  readonly operations: readonly Operation[];
  /** The operation of a request's path (without its query). */
  find(method: string, path: string): Operation | undefined;
  /** Fails unless the document names the answer's status and content type, and its schema holds for the body. */
  check(method: string, path: string, answer: { status: number; body: Json; headers: Headers }): void;
}

export async function readDescription(service: Client): Promise<Description> {
  const document = (await service.call('GET', '/api/openapi.json')).body;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  const operations: Operation[] = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, description]) => ({
      method: method.toUpperCase(),
      path,
      description,
    })),
  );
  const find = (method: string, path: string) =>
    operations.find((operation) => operation.method === method && operation.path === path) ??
    operations.find(
      (operation) =>
        operation.method === method &&
        new RegExp(`^${operation.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
  return {
    operations,
    find,
    check(method, path, { status, body, headers }) {
      const operation = find(method, path);
      assert.ok(operation, `${method} ${path} is in the document`);
      const response = operation?.description.responses[status];
      assert.ok(response, `${method} ${path} may answer ${status}: ${JSON.stringify(body)}`);
      const contentType = headers.get('content-type')?.split(';')[0] ?? '';
      const content = response.content?.[contentType];
      assert.ok(content, `${method} ${path} may answer ${status} as ${contentType}`);
      if (content.schema === undefined) return;
      assert.ok(
        ajv.validate(content.schema, body),
        `${method} ${path} ${status}: ${ajv.errorsText(ajv.errors)} in ${JSON.stringify(body).slice(0, 500)}`,
      );
    },
  };
}
