import type { Json } from '../service.ts';

/** A request that a fuzzer made. */
export interface MadeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  /** The statuses that the document has for this operation. */
  readonly documented: readonly number[];
}

/** Operations that start a process or a download: asked less often, so that the others are asked at all. */
const costly =
  /start_training|preview|estimate|resume|generate|completions|push|export|examples|validate|plan|stop|convert/;
const costlyShare = 0.004;

const odd: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    -1,
    1,
    1.5,
    1e308,
    -1e308,
    2 ** 53,
    1e-320,
    '',
    ' ',
    '0',
    'null',
    '../../etc/passwd',
  ],
  ...[
    '..%2f..',
    '%00',
    '\u0000',
    '\ud800',
    '😀'.repeat(64),
    'a'.repeat(300),
    'support.jsonl',
    '\\\\host\\share',
  ],
  ...[
    '<script>alert(1)</script>',
    "' OR 1=1 --",
    '$(touch /tmp/x)',
    'NaN',
    [],
    {},
    [[]],
    [null],
    { a: { b: [] } },
  ],
];
const segments = [
  '1',
  '0',
  '-1',
  '99999999999999999999',
  'train_1',
  'train_0',
  'train_',
  'support.jsonl',
  'support',
];

/**
 * Makes random requests from an OpenAPI document: valid values, wrong ones, and bodies that are not JSON.
 * @param random numbers from 0 to 1.
 */
export function requestsFrom(document: Json, random: () => number): () => MadeRequest {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    })),
  );
  const isCostly = (entry: (typeof operations)[number]) =>
    entry.method !== 'DELETE' && costly.test(entry.path);
  const dear = operations.filter(isCostly);
  const cheap = operations.filter((entry) => !isCostly(entry));

  /** A value of a JSON schema; one in ten is of none. */
  function value(schema: Json, depth = 0): unknown {
    if (schema === undefined || depth > 6 || random() < 0.1) return pick(odd);
    if (schema.$ref) return value(document.components.schemas[schema.$ref.split('/').at(-1)], depth + 1);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return pick(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return value(pick(choices), depth + 1);
    switch (Array.isArray(schema.type) ? pick(schema.type) : schema.type) {
      case 'object':
        return Object.fromEntries(
          Object.entries<Json>(schema.properties ?? {})
            .filter(([name]) => random() < (schema.required?.includes(name) ? 0.95 : 0.3))
            .concat(random() < 0.05 ? [[String(pick(odd)), {}]] : [])
            .map(([name, inner]) => [name, value(inner, depth + 1)]),
        );
      case 'array':
        return Array.from({ length: Math.floor(random() * 4) }, () => value(schema.items, depth + 1));
      case 'integer':
        return Math.floor((schema.minimum ?? -10) + random() * 20);
      case 'number':
        return (schema.minimum ?? -1) + random() * 2;
      case 'boolean':
        return random() < 0.5;
      case 'null':
        return null;
      default:
        return pick(['support.jsonl', 'text-generation', 'a', 'x'.repeat(Math.floor(random() * 50)), '😀']);
    }
  }

  /** JSON, or something that is nearly JSON. */
  function text(of: unknown): string {
    const json = JSON.stringify(of);
    const at = Math.floor(random() * json.length);
    switch (Math.floor(random() * 30)) {
      case 0:
        return json.slice(0, at);
      case 1:
        return `${json.slice(0, at)}${pick(['\u0000', '}', ',', '"', '\\', 'NaN', '1e999', '\ufeff'])}${json.slice(at)}`;
      case 2:
        return '['.repeat(Math.floor(random() * 5_000));
      case 3:
        return '';
      default:
        return json;
    }
  }

  return () => {
    const { path, method, operation } = pick(random() < costlyShare ? dear : cheap);
    const filled = path.replace(/\{[^}]+\}/g, () => encodeURIComponent(String(pick(segments))).slice(0, 300));
    const parameters = (operation.parameters ?? []).filter((entry: Json) => entry.in === 'query');
    const query = new URLSearchParams();
    for (const { name, schema } of parameters) if (random() < 0.5) query.append(name, String(value(schema)));
    if (random() < 0.02) query.append('unknown', 'x');
    const content = operation.requestBody?.content?.['application/json'];
    const upload = operation.requestBody?.content?.['multipart/form-data'];
    const body = content ? text(value(content.schema)) : upload ? multipart(random) : undefined;
    const type = upload
      ? 'multipart/form-data; boundary=x'
      : pick(['application/json', 'application/json', 'text/plain']);
    return {
      method,
      path: query.size > 0 ? `${filled}?${query}` : filled,
      headers:
        body === undefined ? {} : { 'content-type': content && random() < 0.95 ? 'application/json' : type },
      body,
      documented: Object.keys(operation.responses).map(Number),
    };
  };
}

const rowKinds = [
  '{"input":"a","output":"b"}\n',
  '{"input":"a \\ud83d\\ude00 \\n \\u00e9","more":["ß😀",{"x":1e5}],"output":"b\\\\"}\r\n',
  '{"input":"\\ud800","output":"\\udc00"}\n',
  '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}\n',
  '{"prompt":"a","chosen":"b","rejected":"c"}\n',
  `{"input":${'['.repeat(200)}${']'.repeat(200)},"output":"b"}\n`,
  '{"input":"a","output":\n',
  '\n',
];

/** A small upload, whole or cut, of rows with or without odd bytes. */
function multipart(random: () => number): Buffer {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const mixed = random() < 0.5;
  const rows = Array.from({ length: Math.floor(random() * 20) }, () =>
    mixed ? pick(rowKinds) : rowKinds[0],
  );
  const file = Buffer.from(rows.join(''));
  if (mixed && file.length > 0)
    for (let flip = Math.floor(random() * 4); flip > 0; flip -= 1)
      file[Math.floor(random() * file.length)] = Math.floor(random() * 256);
  const whole = Buffer.concat([
    Buffer.from(
      `--x\r\ncontent-disposition: form-data; name="file"; filename="f${Math.floor(random() * 50)}.jsonl"\r\n\r\n`,
    ),
    file,
    Buffer.from('\r\n--x--\r\n'),
  ]);
  return random() < 0.5 ? whole : whole.subarray(0, Math.floor(random() * whole.length));
}

const starts = [
  'GET / HTTP/1.1\r\nhost: localhost\r\n',
  'POST /api/start_training HTTP/1.1\r\nhost: localhost\r\n',
  '',
];
const pieces = [
  ...[
    'content-length: 5\r\n',
    'content-length: -1\r\n',
    'content-length: 99999999999999999999\r\n',
    '\r\n',
    '\n',
    '\r',
  ],
  ...[
    'transfer-encoding: chunked\r\n',
    'ffffffffffffffff\r\n',
    '0\r\n\r\n',
    'upgrade: websocket\r\n',
    ': \r\n',
    ' x: y\r\n',
  ],
  ...[
    'connection: upgrade\r\n',
    'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
    'sec-websocket-version: 13\r\n',
  ],
  ...[
    'host: evil.example\r\n',
    'expect: 100-continue\r\n',
    'GET /api/health HTTP/1.1\r\n',
    `x: ${'a'.repeat(9_000)}\r\n`,
  ],
];

/** Bytes for the socket that are nearly HTTP, or none. */
export function rawBytes(random: () => number): Buffer {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const text = pick(starts) + Array.from({ length: Math.floor(random() * 6) }, () => pick(pieces)).join('');
  const bytes = Buffer.from(random() < 0.5 ? `${text}\r\n` : text, 'latin1');
  for (let flip = Math.floor(random() * 4); flip > 0 && bytes.length > 0; flip -= 1) {
    bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
  }
  return bytes;
}
