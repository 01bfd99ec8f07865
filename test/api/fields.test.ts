/**
 * Bad input for every field of every endpoint, both taken from the service's OpenAPI document: each is
 * answered with a 4xx that the document names, in the set's own format, and changes nothing.
 */
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  endAll,
  type Json,
  startService,
  type TestService,
  temporaryFolder,
} from '../service.ts';
import { type Description, type Operation, readDescription } from './description.ts';

const ajv = new Ajv2020({ strict: false });
let service: TestService;
let description: Description;
let before = '';

/** All that a request could have changed. */
async function state(): Promise<string> {
  const paths = [
    '/api/jobs',
    '/api/models/',
    '/api/datasets',
    '/api/finetune/session',
    '/api/finetune/status',
  ];
  const answers = await Promise.all(paths.map((path) => service.call('GET', path)));
  const folders = ['datasets', 'jobs', 'model_checkpoints'].map((name) =>
    readdirSync(join(service.dataDir, name)),
  );
  return JSON.stringify([answers.map(({ body }) => body), folders], null, 1);
}

test.before(async () => {
  service = await startService({
    env: { HF_ENDPOINT: 'http://127.0.0.1:9', HF_HOME: temporaryFolder(), HUB_TOKEN: '' },
    limits: { uploadBytes: 100_000 },
  });
  description = await readDescription(service);
  await service.call('POST', '/api/finetune/validate_task', { task: 'summarization' });
  await service.call('POST', '/api/finetune/set_model', { selected_model: 'acme/chosen' });
  const rows = Array.from({ length: 10 }, (_, index) => `{"input":"in ${index}","output":"out"}`);
  await service.upload('kept.jsonl', rows.join('\n'));
  before = await state();
});
test.after(endAll);

test('the document has an example of every body', () => {
  for (const { method, path, description: operation } of withBody()) {
    const { schema, example } = jsonOf(operation.requestBody);
    assert.ok(example !== undefined && ajv.validate(schema, example), `${method} ${path}`);
  }
});

/** A test after which nothing may have changed. (A hook that fails after each test would not be told of.) */
function unchanged(name: string, work: () => Promise<void>): void {
  test(name, async () => {
    await work();
    assert.is(await state(), before, 'nothing has changed');
    const failures = service.log.filter(({ level }) => level >= 50);
    assert.equal(failures, [], 'nothing failed inside');
  });
}

const withBody = () =>
  description.operations.filter(({ description: { requestBody } }) => jsonOf(requestBody));
const jsonOf = (requestBody: Json) => requestBody?.content['application/json'];
/** The path of an operation with values that name nothing. */
const pathOf = ({ path }: Operation) =>
  path.replace('{task}', 'summarization').replaceAll(/\{\w+\}/g, 'none');

/** Sends bytes as they are. */
async function send(
  { method, path }: { method: string; path: string },
  body: BodyInit | undefined,
  headers: Record<string, string> = { 'content-type': 'application/json' },
): Promise<Answer> {
  const stream = body instanceof ReadableStream ? { duplex: 'half' } : {};
  const response = await fetch(service.url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    ...stream,
  } as RequestInit);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

/** The answer is as documented, and of `status`, or a 4xx or 502 (the hub, which is away) where none is given. */
function isRefused(operation: Operation, answer: Answer, status: number | null, what: string): void {
  description.check(operation.method, operation.path, answer);
  const context = `${operation.method} ${operation.path} ${what}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`;
  if (status !== null) assert.is(answer.status, status, context);
  // An estimate is given for what may not be there yet, and a key may have any name.
  else if (answer.status !== 200 || !['/api/estimate', '/api/keys'].includes(operation.path))
    assert.ok((answer.status >= 400 && answer.status < 500) || answer.status === 502, context);
}

/** All that the answer says, in whichever format. */
const said = ({ body }: Answer) => JSON.stringify(body);

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
  'every body: empty, of another kind, cut short, not UTF-8, 10 MB, of another content type',
  async () => {
    for (const operation of withBody()) {
      const { example } = jsonOf(operation.description.requestBody);
      const target = { method: operation.method, path: pathOf(operation) };
      const text = JSON.stringify(example);
      for (const body of [
        '',
        ' ',
        '[]',
        'null',
        '7',
        '"x"',
        'true',
        `${text},`,
        `${text}${text}`,
        `{"a":1,}`,
      ]) {
        // Where a body may be absent, an empty one is none.
        const absent = body === '' && operation.description.requestBody.required === false;
        isRefused(operation, await send(target, body), absent ? null : 400, body.slice(0, 50));
      }
      for (const length of [1, Math.floor(text.length / 2), text.length - 1]) {
        isRefused(operation, await send(target, text.slice(0, length)), 400, `cut at ${length}`);
      }
      const bytes = Buffer.from(text);
      const wrong = Buffer.concat([bytes.subarray(0, -2), Buffer.from([0xff]), bytes.subarray(-2)]);
      for (const body of [wrong, Buffer.from(text, 'utf16le')]) {
        isRefused(operation, await send(target, body), 400, 'not UTF-8');
      }
      isRefused(operation, await send(target, `{"x":"${'x'.repeat(10_000_000)}"}`), 413, '10 MB');
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
      ]) {
        const answer = await send(target, text, { 'content-type': type });
        isRefused(operation, answer, 400, type);
        assert.match(said(answer), 'application/json');
      }
    }
  },
);

unchanged('10 MB in chunks without a content-length are refused while they arrive', async () => {
  for (const operation of withBody()) {
    const chunk = new Uint8Array(2 ** 16).fill(0x20);
    let left = 160;
    const stream = new ReadableStream({
      pull(controller) {
        if (left-- > 0) controller.enqueue(chunk);
        else controller.close();
      },
    });
    const target = { method: operation.method, path: pathOf(operation) };
    isRefused(operation, await send(target, stream), 413, '10 MB in chunks');
  }
});

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

unchanged('a client that goes away before, in the middle of and right after its body', async () => {
  const { hostname, port, host } = new URL(service.url);
  for (const operation of description.operations) {
    const { requestBody } = operation.description;
    if (requestBody === undefined) continue;
    const json = jsonOf(requestBody);
    const body = json
      ? JSON.stringify(json.example)
      : `--b\r\ncontent-disposition: form-data; name="file"; filename="gone.jsonl"\r\n\r\n{"input":"a","output":"b"}\n`;
    const type = json ? 'application/json' : 'multipart/form-data; boundary=b';
    const head = `${operation.method} ${pathOf(operation)} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: ${type}\r\n`;
    for (const [length, part] of [
      [1000, ''],
      [1000, body.slice(0, 20)],
      [Buffer.byteLength(body) + 1, body],
    ] as const) {
      for (const leave of ['end', 'destroy'] as const) {
        await new Promise<void>((resolve) => {
          const socket = connect(Number(port), hostname, () => {
            socket.write(`${head}content-length: ${length}\r\n\r\n${part}`, () => socket[leave]());
          });
          socket.resume();
          socket.on('error', () => undefined);
          socket.on('close', () => resolve());
        });
      }
    }
  }
  assert.is((await service.call('GET', '/api/health')).status, 200);
});

unchanged('a large body that is refused is answered, also on a connection that closes', async () => {
  const wanted: [string, string, string, number][] = [
    ['POST', '/api/start_training', 'application/json', 413],
    ['POST', '/api/start_training', 'text/plain', 413],
    ['POST', '/api/upload_dataset', 'application/json', 400],
    ['POST', '/api/upload_dataset', 'multipart/form-data; boundary=b', 413],
    ['POST', '/api/nothing', 'application/json', 404],
    ['PUT', '/api/health', 'application/json', 405],
    ['DELETE', '/api/models/none', 'application/json', 404],
    ['POST', '/api/stop_training', 'application/json', 409],
  ];
  for (const connection of ['close', 'keep-alive']) {
    for (const [method, path, type, status] of wanted) {
      const headers = { connection, 'content-type': type };
      const answer = await send({ method, path }, 'x'.repeat(10_000_000), headers);
      assert.is(answer.status, status, `${method} ${path}, ${connection}`);
    }
  }
});

unchanged('every invalid upload', async () => {
  const operation = description.find('POST', '/api/upload_dataset') as Operation;
  const target = { method: 'POST', path: '/api/upload_dataset' };
  const form = (disposition: string, content = '{"input":"a","output":"b"}\n', end = '\r\n--b--\r\n') =>
    `--b\r\ncontent-disposition: ${disposition}\r\n\r\n${content}${end}`;
  const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
  const good = 'form-data; name="file"; filename="a.jsonl"';
  const bad: [string, string, Record<string, string>][] = [
    ['no body', '', multipart],
    ['JSON', '{"file":"x"}', { 'content-type': 'application/json' }],
    ['no boundary', form(good), { 'content-type': 'multipart/form-data' }],
    ['another boundary', form(good), { 'content-type': 'multipart/form-data; boundary=c' }],
    ['another part', form('form-data; name="data"; filename="a.jsonl"'), multipart],
    ['no file but a field', form('form-data; name="file"'), multipart],
    ['no name of a part', form('form-data; filename="a.jsonl"'), multipart],
    ['no name of the file', form('form-data; name="file"; filename=""'), multipart],
    ['another extension', form('form-data; name="file"; filename="a.txt"'), multipart],
    ['no disposition', `--b\r\n\r\nx\r\n--b--\r\n`, multipart],
    ['cut in the file', form(good, '{"input":"a"', ''), multipart],
    ['cut before the file', `--b\r\ncontent-disposition: ${good}\r\n`, multipart],
    ['cut in the boundary', form(good, '{}', '\r\n--b'), multipart],
    ['a wild head', `--b\r\n${'x: y\r\n'.repeat(5000)}\r\nx\r\n--b--\r\n`, multipart],
    ['noise', 'x'.repeat(50_000), multipart],
  ];
  for (const [what, body, headers] of bad) isRefused(operation, await send(target, body, headers), 400, what);
  for (const size of [100_000, 150_000, 10_000_000]) {
    isRefused(operation, await send(target, form(good, 'x'.repeat(size)), multipart), 413, `${size} bytes`);
  }
});

test.run();
