import { request } from 'node:http';
import { hostname } from 'node:os';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import WebSocket from 'ws';
import { readConfig } from '../../src/config.ts';
import type { Json } from '../client.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';

let service: InsideService;
let operations: [string, string][] = [];

test.before(async () => {
  service = await openInside({ args: ['--allowed-host', 'hone.example'] });
  const { body } = await service.call('GET', '/api/openapi.json');
  operations = Object.entries(body.paths as Json).flatMap(([path, methods]) =>
    Object.keys(methods as Json).map((method): [string, string] => [
      method.toUpperCase(),
      path.replace(/\{\w+\}/g, 'x'),
    ]),
  );
  assert.ok(operations.length > 25);
});
test.after(endAll);

function status(method: string, path: string, headers: Record<string, string>): Promise<number> {
  const { hostname: host, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, method, path, headers, setHost: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end();
  });
}

function upgrade(headers: Record<string, string>): Promise<string> {
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`, { headers });
  return new Promise((resolve) => {
    socket.on('open', () => {
      socket.close();
      resolve('open');
    });
    socket.on('error', (error) => resolve(error.message));
  });
}

test('a foreign host is refused on every route and method, and on the socket', async () => {
  for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '']) {
    for (const [method, path] of [
      ...operations,
      ['GET', '/'],
      ['OPTIONS', '/api/info'],
      ['GET', '/nowhere'],
    ] as const) {
      assert.is(await status(method, path, { host }), 403, `${method} ${path} as ${host}`);
    }
    assert.match(await upgrade({ host: host || 'evil.example' }), '403');
  }
});

test('a foreign or opaque origin is refused on every route and method, and on the socket', async () => {
  const host = new URL(service.url).host;
  for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:1', 'file://']) {
    for (const [method, path] of operations) {
      assert.is(await status(method, path, { host, origin }), 403, `${method} ${path} from ${origin}`);
    }
    assert.match(await upgrade({ origin }), '403');
  }
});

test('a request that the page of another site makes without an origin is refused on every route', async () => {
  const host = new URL(service.url).host;
  for (const site of ['cross-site', 'same-site']) {
    for (const [method, path] of operations) {
      assert.is(await status(method, path, { host, 'sec-fetch-site': site }), 403, `${method} ${path}`);
    }
  }
  assert.is(await status('GET', '/', { host, 'sec-fetch-site': 'cross-site' }), 200);
  for (const site of ['same-origin', 'none']) {
    assert.is(await status('GET', '/api/health', { host, 'sec-fetch-site': site }), 200);
  }
});

test('IP literals, localhost, our own name and allowed hosts are served; so is our own origin', async () => {
  const { port, host } = new URL(service.url);
  for (const name of [
    host,
    `localhost:${port}`,
    `192.168.1.2:${port}`,
    `[::1]:${port}`,
    hostname(),
    'hone.example',
    'HONE.example:443',
  ]) {
    assert.is(await status('GET', '/api/health', { host: name }), 200, name);
  }
  assert.is(await status('GET', '/api/health', { host, origin: service.url }), 200);
  assert.is(await upgrade({ origin: service.url }), 'open');
  assert.is(await upgrade({}), 'open');
});

test('an origin that may use the service is given exactly', async () => {
  const environment = { HOME: '/tmp' };
  assert.equal(readConfig(['--allow-origin', 'https://app.example/'], environment, '/tmp').allowedOrigins, [
    'https://app.example',
  ]);
  for (const origin of ['*', 'null', 'app.example', 'https://app.example/path', 'file:///tmp', ''])
    assert.throws(
      () => readConfig(['--allow-origin', origin], environment, '/tmp'),
      /must be an origin such as/,
    );
});

test('no answer allows other origins', async () => {
  const { headers } = await service.call('GET', '/api/health');
  assert.is(headers.get('access-control-allow-origin'), null);
  assert.is(headers.get('x-content-type-options'), 'nosniff');
});

test.run();
