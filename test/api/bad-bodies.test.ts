/** Bodies that are invalid as a whole, of every endpoint of the service's OpenAPI document. */
import { connect } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
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
import type { Operation } from './description.ts';

useService();

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
        // Some take a form as well.
        ...(operation.description.requestBody.content['multipart/form-data']
          ? []
          : ['multipart/form-data; boundary=x']),
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
