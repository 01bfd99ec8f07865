/** Bad input for every field and parameter of every endpoint, both taken from the service's OpenAPI document. */
import { connect } from 'node:net';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Json } from '../service.ts';
import {
  description,
  isRefused,
  jsonOf,
  pathOf,
  said,
  send,
  service,
  unchanged,
  useService,
  withBody,
} from './bad-requests.ts';

useService();

const ajv = new Ajv2020({ strict: false });

test('the document has an example of every body', () => {
  for (const { method, path, description: operation } of withBody()) {
    const { schema, example } = jsonOf(operation.requestBody);
    assert.ok(example !== undefined && ajv.validate(schema, example), `${method} ${path}`);
  }
});

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
/** Literals, as they stand in a body. Whether a field may have one is left to its schema. */
const literals: readonly string[] = [
  'null',
  'true',
  'false',
  '0',
  '-1',
  '-2',
  '0.5',
  '1',
  '2.5',
  '1e15',
  '9007199254740993',
  '1e300',
  '-1e300',
  '""',
  '"x"',
  '"1"',
  '"\\u0000"',
  '"\\ud800"',
  JSON.stringify('x'.repeat(200_000)),
  '[]',
  '["x"]',
  '[null]',
  '{}',
  '{"x":1}',
  deep(10),
];
/** What is no JSON, is none that we take, or is a number that is none. */
const refusedLiterals = [
  'NaN',
  'Infinity',
  '-Infinity',
  'undefined',
  "'x'",
  '01',
  '+1',
  '1.',
  '.5',
  deep(65),
  deep(100_000),
];

function bodyWith(example: Json, field: string, literal: string | null): string {
  const others = Object.entries(example).filter(([name]) => name !== field);
  const members = others.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  if (literal !== null) members.push(`${JSON.stringify(field)}:${literal}`);
  return `{${members.join()}}`;
}

unchanged(
  'every field of every body: missing, null, wrong type, empty, too long, out of range, odd text',
  async () => {
    let sent = 0;
    for (const operation of withBody()) {
      const { schema, example } = jsonOf(operation.description.requestBody);
      const target = { method: operation.method, path: pathOf(operation) };
      for (const [field, fieldSchema] of Object.entries<Json>(schema.properties)) {
        const allows = ajv.compile(fieldSchema);
        if (schema.required?.includes(field)) {
          const answer = await send(target, bodyWith(example, field, null));
          isRefused(operation, answer, 400, `without ${field}`);
          assert.match(said(answer), field);
        }
        for (const literal of literals) {
          const allowed = allows(JSON.parse(literal));
          const answer = await send(target, bodyWith(example, field, literal));
          isRefused(operation, answer, allowed ? null : 400, `${field}: ${literal.slice(0, 50)}`);
          if (!allowed) assert.match(said(answer), field);
          assert.ok(said(answer).length < 20_000, 'a long value is not sent back');
          sent += 1;
        }
      }
    }
    assert.ok(sent > 1000);
  },
);

unchanged(
  'every field of every body: NaN, infinity and other non-JSON, numbers beyond range, deep nesting',
  async () => {
    for (const operation of withBody()) {
      const { schema, example } = jsonOf(operation.description.requestBody);
      const target = { method: operation.method, path: pathOf(operation) };
      for (const field of Object.keys(schema.properties)) {
        for (const literal of refusedLiterals) {
          const answer = await send(target, bodyWith(example, field, literal));
          isRefused(operation, answer, 400, `${field}: ${literal.slice(0, 50)}`);
        }
        // JSON, but infinity once it is read.
        for (const literal of ['1e999', '-1e999']) {
          isRefused(
            operation,
            await send(target, bodyWith(example, field, literal)),
            400,
            `${field}: ${literal}`,
          );
        }
      }
    }
  },
);

unchanged(
  'every field of every body: a key that is given twice is refused by name, however it is spelt',
  async () => {
    for (const operation of withBody()) {
      const { schema, example } = jsonOf(operation.description.requestBody);
      const target = { method: operation.method, path: pathOf(operation) };
      for (const field of Object.keys(schema.properties)) {
        const value = JSON.stringify(example[field] ?? null);
        const spelt = `"\\u${field.charCodeAt(0).toString(16).padStart(4, '0')}${field.slice(1)}"`;
        for (const again of [JSON.stringify(field), spelt]) {
          const body = `${bodyWith(example, field, value).slice(0, -1)},${again}:${value}}`;
          const answer = await send(target, body);
          isRefused(operation, answer, 400, `${field} twice`);
          assert.match(said(answer), new RegExp(`${field}.*twice`));
        }
      }
    }
  },
);

unchanged(
  'every parameter of a query: empty, out of range, of another type, given twice, missing',
  async () => {
    const values = [
      '',
      ' ',
      '-1',
      '1.5',
      '1e3',
      'NaN',
      'x',
      '9'.repeat(30),
      '１',
      '%00',
      '%ff',
      'x'.repeat(2000),
    ];
    for (const operation of description.operations) {
      const path = pathOf(operation);
      for (const parameter of operation.description.parameters ?? []) {
        if (parameter.in !== 'query') continue;
        const allows = ajv.compile(parameter.schema);
        const ask = (query: string) =>
          send({ method: operation.method, path: `${path}?${query}` }, undefined, {});
        for (const value of values) {
          const answer = await ask(`${parameter.name}=${value}`);
          description.check(operation.method, operation.path, answer);
          const allowed = allows(new URLSearchParams(`v=${value}`).get('v'));
          if (!allowed) isRefused(operation, answer, 400, `${parameter.name}=${value}`);
          assert.ok(answer.status < 500);
        }
        const twice = await ask(`${parameter.name}=1&${parameter.name}=1`);
        isRefused(operation, twice, 400, `${parameter.name} twice`);
        assert.match(said(twice), parameter.name);
        if (parameter.required) isRefused(operation, await ask(''), 400, `without ${parameter.name}`);
      }
    }
  },
);

unchanged('every path parameter: unknown, unusual, wrongly encoded, too long', async () => {
  const values = [
    'none',
    '..',
    '%2e%2e',
    '..%2f..%2fetc%2fpasswd',
    '%252e%252e%252f%252e%252e%252fetc%252fpasswd',
    '..%5c..%5cetc%5cpasswd',
    '%2fetc%2fpasswd',
    '..%2f%00',
    '%00',
    '%f0%9f%98%80',
    '-1',
    '1e3',
    '0',
    "'",
    '%22',
    'x'.repeat(3000),
  ];
  for (const operation of description.operations) {
    const names = [...operation.path.matchAll(/\{\w+\}/g)].map(([name]) => name);
    const { requestBody } = operation.description;
    const body = jsonOf(requestBody) ? JSON.stringify(jsonOf(requestBody).example) : undefined;
    for (const name of names) {
      const ask = (value: string) =>
        rawRequest(
          operation.method,
          operation.path.replace(name, value).replaceAll(/\{\w+\}/g, 'none'),
          body,
        );
      for (const value of values) {
        // Stores under an ID of the caller.
        if (operation.method === 'PUT' && /^[\w-]{1,64}$/.test(value)) continue;
        const status = await ask(value);
        assert.ok(status >= 400 && status < 500, `${operation.method} ${operation.path} ${value}: ${status}`);
      }
      for (const value of ['%', '%zz', '%ff', '%e2%82']) {
        assert.is(await ask(value), 400, `${operation.method} ${operation.path} ${value}`);
      }
    }
  }
});

/** A request whose path goes out as it is, which fetch would tidy; the status. */
function rawRequest(method: string, path: string, body: string | undefined): Promise<number> {
  const { hostname, port, host } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      const length =
        body === undefined
          ? ''
          : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
      socket.end(
        `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n${length}\r\n${body ?? ''}`,
      );
    });
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      if (status === undefined) return;
      socket.destroy();
      resolve(Number(status));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`${method} ${path.slice(0, 100)} was not answered: ${text}`)));
  });
}

test.run();
