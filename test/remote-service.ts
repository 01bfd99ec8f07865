import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from './client.ts';

/** A request that another service got. */
export interface Asked {
  readonly headers: IncomingMessage['headers'];
  readonly path: string | undefined;
  readonly body: Json;
}

/** Another service with OpenAI's API on this machine, which does what the `model` of a request says. */
export interface RemoteService {
  /** Ends in `/v1`. */
  readonly url: string;
  readonly asked: Asked[];
  /** Where the model `redirects` sends its clients. */
  redirectsTo: string;
  /** Resolves when the client of the newest request has closed its connection before the end of the answer. */
  left(): Promise<unknown>;
  close(): void;
}

const usage = {
  ...{ prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 },
  prompt_tokens_details: { cached_tokens: 3, audio_tokens: 0 },
};
const head = { id: 'chatcmpl-of-the-remote', created: 1_700_000_000, model: 'remote-2026-01-01' };
const calls = [{ id: 'call_1', type: 'function', function: { name: 'trace', arguments: '{"parcel":"A1"}' } }];
const whole = (message: object, finish_reason = 'stop') => ({
  ...{ ...head, object: 'chat.completion', service_tier: 'default', usage },
  choices: [{ index: 0, message: { role: 'assistant', annotations: [], ...message }, finish_reason }],
});
const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  ...{ ...head, object: 'chat.completion.chunk', system_fingerprint: 'fp_1' },
  ...{ choices: [{ index: 0, delta, finish_reason }], ...more },
});

const json = (response: ServerResponse, status: number, body: unknown, headers = {}) =>
  void response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body));

/** How each model answers a stream; every part is written by itself. */
const streams: Readonly<Record<string, (asked: Json) => readonly (string | object)[]>> = {
  good: ({ stream_options: options }) => [
    ': a comment\n\n',
    chunk({ role: 'assistant', content: '' }),
    // In pieces that end within a line.
    `data: ${JSON.stringify(chunk({ content: 'We trace ' })).slice(0, 40)}`,
    `${JSON.stringify(chunk({ content: 'We trace ' })).slice(40)}\r\n\r\n`,
    chunk({ content: 'it – now.' }),
    chunk({}, 'stop'),
    ...(options?.include_usage ? [{ ...chunk({}), choices: [], usage }] : []),
    'data: [DONE]\n\n',
  ],
  calls: () => [
    chunk({ role: 'assistant', content: null }),
    chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'trace' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"parcel":' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"A1"}' } }] }),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ],
  unusual: () => [
    chunk({
      content: [
        { type: 'thinking', thinking: [] },
        { type: 'text', text: 'We ' },
      ],
    }),
    chunk({ content: 'trace.' }),
    ...['A1', 'B2'].map((parcel) => chunk({ tool_calls: [{ ...calls[0], id: `call_${parcel}` }] })),
    chunk({}, 'tool_calls', { usage: { total: 'many' } }),
    'data: [DONE]',
  ],
  'breaks-off': () => [chunk({ content: 'We tr' }), 'BREAK'],
  unfinished: () => [chunk({ content: 'We tr' })],
  'fails-late': () => [chunk({ content: 'We tr' }), { error: { message: 'Overloaded.', code: 503 } }],
  'garbage-late': () => [chunk({ content: 'We tr' }), 'data: {"choices": 7}\n\n'],
  garbage: () => ['data: hello\n\n'],
  waits: () => [chunk({ content: 'We tr' }), 'WAIT'],
  huge: () => [
    chunk({ content: 'a' }),
    ...Array.from({ length: 40 }, () => chunk({ content: 'a'.repeat(9_000) })),
  ],
  'long-line': () => [`data: ${'a'.repeat(200_000)}`],
};

/** How each model answers in full. */
const answers: Readonly<Record<string, (response: ServerResponse, asked: Asked) => void>> = {
  good: (response) => json(response, 200, whole({ content: 'We trace it – now.', refusal: null })),
  calls: (response) => json(response, 200, whole({ content: null, tool_calls: calls }, 'tool_calls')),
  bare: (response) => json(response, 200, { choices: [{ message: { content: 'Yes.' } }] }),
  garbage: (response) => json(response, 200, '<html>Welcome</html>'),
  'no-completion': (response) => json(response, 200, { object: 'list', data: [] }),
  'error-200': (response) => json(response, 200, { error: { message: 'No capacity.' } }),
  refuses: (response, { headers }) =>
    json(response, 401, { error: { message: `Incorrect API key: ${headers.authorization}` } }),
  'rate-limited': (response) =>
    json(
      response,
      429,
      { error: { message: 'Slow down.', code: 'insufficient_quota' } },
      { 'retry-after': '7' },
    ),
  'bad-request': (response, { headers }) =>
    json(response, 400, {
      error: {
        ...{ message: `max_tokens is too large for ${headers.authorization}`, type: 'invalid_request_error' },
        ...{ param: 'max_tokens', code: 'too_large' },
      },
    }),
  'no-model': (response) => json(response, 404, { error: 'model "x" not found, try pulling it first' }),
  overloaded: (response) => json(response, 503, { error: { message: 'Overloaded.' } }),
  huge: (response) => json(response, 200, whole({ content: 'a'.repeat(400_000) })),
  waits: () => undefined,
  'breaks-off': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"choices":', () => response.destroy());
  },
};

async function stream(response: ServerResponse, parts: readonly (string | object)[]): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  for (const part of parts) {
    if (part === 'BREAK') return void response.destroy();
    if (part === 'WAIT') return;
    response.write(typeof part === 'string' ? part : `data: ${JSON.stringify(part)}\n\n`);
    // A part of its own for the reader.
    await sleep(5);
  }
  response.end();
}

export async function startRemote(): Promise<RemoteService> {
  const asked: Asked[] = [];
  let closed: Promise<unknown> = Promise.resolve();
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      const one = { headers: request.headers, path: request.url, body: JSON.parse(text) };
      asked.push(one);
      closed = once(response, 'close').then(() => response.writableEnded);
      const { model, stream: isStream } = one.body;
      const parts = isStream ? streams[model] : undefined;
      if (parts !== undefined) void stream(response, parts(one.body));
      else if (model === 'redirects') json(response, 307, '', { location: service.redirectsTo });
      else answers[model]?.(response, one);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const service: RemoteService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    redirectsTo: 'http://127.0.0.1:9/v1',
    left: () => closed,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return service;
}
