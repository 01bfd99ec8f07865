/**
 * Every route, the socket and the page for every kind of client and key, on both engines, and what clients on other machines
 * may do with a key.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import WebSocket from 'ws';
import { endAll, type Json, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { type Clients, farClients, type Got, localClients, type Sent } from './clients.ts';
import { engines } from './engines.ts';

const far = farClients();
const local = localClients();
if (typeof far === 'string') console.log(`Clients on another machine are left out: ${far}`);

type Origin = 'loopback' | 'network' | 'forwarded';
const origins: readonly Origin[] = [
  'loopback',
  ...(typeof far === 'string' ? [] : (['network'] as const)),
  'forwarded',
];
const clientsOf = (origin: Origin): Clients => (origin === 'network' ? (far as Clients) : local);

/** Paths that answer everyone; a sign-in without a key is a request without its body. */
const free = new Set(['GET /api/health', 'GET /api/session', 'POST /api/session', 'DELETE /api/session']);
const forInference = new Set([
  ...['GET /v1/models', 'GET /v1/models/{model}', 'POST /v1/chat/completions', 'POST /v1/completions'],
]);

interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly set: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

function testOn(engine: (typeof engines)[number]): void {
  const test = suite(engine);
  let service: TestService;
  let port = 0;
  let document: Json;
  let operations: Operation[] = [];
  const keys: Record<'right' | 'inference' | 'revoked' | 'wrong', string> = {
    ...{ right: '', inference: '', revoked: '', wrong: `hone_00000000_${'A'.repeat(43)}` },
  };
  const outside = temporaryFolder();
  const allowed = temporaryFolder();

  async function makeKey(name: string, scope: string): Promise<{ id: string; key: string }> {
    const { status, body } = await service.call('POST', '/api/keys', { name, scope });
    assert.is(status, 200);
    return body;
  }

  test.before(async () => {
    service = await startService({
      args: ['--host', '0.0.0.0', '--allow-path', allowed],
      env: { HONE_HTTP: engine, HF_HUB_OFFLINE: '1' },
    });
    port = Number(new URL(service.url).port);
    keys.right = (await makeKey('right', 'full')).key;
    keys.inference = (await makeKey('inference', 'inference')).key;
    const revoked = await makeKey('revoked', 'full');
    keys.revoked = revoked.key;
    assert.is((await service.call('DELETE', `/api/keys/${revoked.id}`)).status, 200);
    document = (await service.call('GET', '/api/openapi.json')).body;
    operations = Object.entries(document.paths as Json).flatMap(([path, methods]) =>
      Object.entries(methods as Json).map(([method, { tags }]: [string, Json]) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path: path.replace(/\{\w+\}/g, 'x'),
        // A path segment that is not of digits belongs to the first set.
        set: tags[0] as string,
      })),
    );
    assert.ok(operations.length > 50);
    operations.push(
      { name: 'the socket', method: 'GET', path: '/ws/training', set: 'hone', headers: handshake },
      { name: 'a path of nothing', method: 'GET', path: '/api/nothing', set: 'hone' },
      { name: 'a method that a path has not', method: 'PUT', path: '/api/info', set: 'hone' },
      { name: 'the methods of a path', method: 'OPTIONS', path: '/v1/models', set: 'openai' },
      { name: 'the head of an answer', method: 'HEAD', path: '/api/models', set: 'hone' },
    );
  });

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  /** Asks as a client from there; a forwarded request comes from a proxy on this machine that is not trusted. */
  const ask = (origin: Origin, method: string, path: string, sent: Sent = {}): Promise<Got> =>
    clientsOf(origin).ask(port, method, path, {
      ...sent,
      from: sent.from ?? clientsOf(origin).freshAddress(),
      headers: { ...(origin === 'forwarded' ? { 'x-forwarded-for': '127.0.0.1' } : {}), ...sent.headers },
    });

  /** What is wrong with a refusal for want of a valid key, or null. */
  function refusalFault({ set, method }: Operation, { status, headers, body }: Got): string | null {
    if (status !== 401) return `status ${status}`;
    if (headers['www-authenticate'] !== 'Bearer') return 'no WWW-Authenticate: Bearer';
    if (method === 'HEAD') return null;
    const fields = Object.keys(body).sort().join();
    if (set === 'openai') {
      return body.error?.code === 'invalid_api_key' && fields === 'error' ? null : JSON.stringify(body);
    }
    return fields === (set === 'finetune' ? 'detail' : 'detail,error,status_code')
      ? null
      : JSON.stringify(body);
  }

  for (const origin of origins) {
    for (const kind of ['none', 'wrong', 'right', 'inference', 'revoked'] as const) {
      test(`every route, ${origin}, ${kind === 'none' ? 'without a key' : `with a key: ${kind}`}`, async () => {
        const faults = await Promise.all(
          operations.map(async (operation) => {
            const { name, method, path } = operation;
            const headers = { ...operation.headers, ...(kind === 'none' ? {} : bearer(keys[kind])) };
            const got = await ask(origin, method, path, { headers });
            const isOpen =
              origin === 'loopback' ||
              free.has(name) ||
              kind === 'right' ||
              (kind === 'inference' && forInference.has(name));
            const fault = isOpen
              ? [401, 403, 429].includes(got.status)
              : kind === 'inference' && !(name === 'the methods of a path')
                ? got.status !== 403
                : kind === 'inference'
                  ? got.status !== 403 && got.status !== 204
                  : refusalFault(operation, got);
            if (name === 'the socket' && isOpen) assert.is(got.status, 101, `${name} ${got.text}`);
            return fault ? `${name}: ${fault === true ? got.status : fault}` : null;
          }),
        );
        assert.equal(
          faults.filter((fault) => fault !== null),
          [],
        );
      });
    }
  }

  const elsewhere = origins.filter((origin) => origin !== 'loopback');

  for (const origin of elsewhere) {
    test(`the page needs no key, ${origin}`, async () => {
      for (const path of ['/', '/runs', '/index.html']) {
        const { status, text } = await ask(origin, 'GET', path);
        assert.is(status, 200, path);
        assert.match(text, '<!doctype html>');
      }
    });

    test(`another spelling of a path opens nothing, ${origin}`, async () => {
      for (const path of [
        '/%61pi/info',
        '/api/%69nfo',
        '/api%2finfo',
        '//api/info',
        '/API/info',
        '/./api/info',
        '/x/../api/info',
      ]) {
        const { status, text } = await ask(origin, 'GET', path);
        assert.ok(status === 401 || !text.includes('providers'), `${path}: ${status} ${text.slice(0, 200)}`);
      }
    });

    test(`a key in the query or in another header opens nothing, ${origin}`, async () => {
      const query = new URLSearchParams({
        key: keys.right,
        access_token: keys.right,
        hone_session: keys.right,
      });
      assert.is((await ask(origin, 'GET', `/api/info?${query}`)).status, 401);
      for (const headers of [
        { 'x-api-key': keys.right },
        { authorization: keys.right },
        { authorization: `Basic ${Buffer.from(`:${keys.right}`).toString('base64')}` },
        { cookie: `hone_session=${keys.right}` },
      ]) {
        assert.is((await ask(origin, 'GET', '/api/info', { headers })).status, 401, JSON.stringify(headers));
      }
    });

    test(`a session opens the service until it is ended, ${origin}`, async () => {
      const signedIn = await ask(origin, 'POST', '/api/session', { body: { key: keys.right } });
      assert.is(signedIn.status, 200, signedIn.text);
      assert.equal(signedIn.body, {
        ...{ access: 'auto', reachable: true, key_needed: true },
        ...{ signed_in: true, key_name: 'right', scope: 'full' },
      });
      const [set] = signedIn.headers['set-cookie'] as unknown as string[];
      assert.match(
        set as string,
        /^hone_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=2592000$/,
      );
      const headers = { cookie: `theme=dark; ${(set as string).split(';', 1)[0]}` };
      assert.equal((await ask(origin, 'GET', '/api/session', { headers })).body, signedIn.body);
      assert.is((await ask(origin, 'GET', '/api/info', { headers })).status, 200);
      assert.is(
        (await ask(origin, 'GET', '/ws/training', { headers: { ...headers, ...handshake } })).status,
        101,
      );
      const ended = await ask(origin, 'DELETE', '/api/session', { headers });
      assert.is(ended.body.signed_in, false);
      assert.match(
        (ended.headers['set-cookie'] as unknown as string[])[0] as string,
        /^hone_session=;.*Max-Age=0/,
      );
      assert.is((await ask(origin, 'GET', '/api/info', { headers })).status, 401);
      assert.is((await ask(origin, 'GET', '/api/session', { headers })).body.signed_in, false);
    });

    test(`a wrong key and one for inference do not sign in, ${origin}`, async () => {
      for (const [kind, status] of [
        ['wrong', 401],
        ['revoked', 401],
        ['inference', 403],
      ] as const) {
        const got = await ask(origin, 'POST', '/api/session', { body: { key: keys[kind] } });
        assert.is(got.status, status, kind);
        assert.is(got.headers['set-cookie'], undefined);
      }
    });

    test(`ten wrong keys stop an address for a while, and no other, ${origin}`, async () => {
      const from = clientsOf(origin).freshAddress();
      const guess = (path: string) => ask(origin, 'GET', path, { from, headers: bearer(keys.wrong) });
      for (let time = 0; time < 5; time += 1) assert.is((await guess('/api/info')).status, 401);
      for (let time = 0; time < 5; time += 1) {
        assert.is((await ask(origin, 'POST', '/api/session', { from, body: { key: 'wrong' } })).status, 401);
      }
      for (const [path, headers] of [
        ['/api/info', bearer(keys.wrong)],
        ['/v1/models', bearer(keys.right)],
        ['/ws/training', { ...handshake, ...bearer(keys.wrong) }],
        ['/api/session', bearer(keys.right)],
      ] as const) {
        const got = await ask(origin, 'GET', path, { from, headers });
        assert.is(got.status, 429, path);
        assert.ok(Number(got.headers['retry-after']) >= 1 && Number(got.headers['retry-after']) <= 60);
      }
      assert.is((await ask(origin, 'POST', '/api/session', { from, body: { key: keys.right } })).status, 429);
      assert.is((await ask(origin, 'GET', '/api/info', { headers: bearer(keys.right) })).status, 200);
    });

    test(`an ended session is no guess, ${origin}`, async () => {
      const from = clientsOf(origin).freshAddress();
      const headers = { cookie: `hone_session=${'A'.repeat(43)}` };
      for (let time = 0; time < 15; time += 1) {
        assert.is((await ask(origin, 'GET', '/api/info', { from, headers })).status, 401);
      }
      assert.is((await ask(origin, 'GET', '/api/info', { from, headers: bearer(keys.right) })).status, 200);
    });

    test(`paths of this machine are refused, ${origin}`, async () => {
      const models = join(service.dataDir, 'model_checkpoints');
      mkdirSync(models, { recursive: true });
      mkdirSync(join(outside, 'model'), { recursive: true });
      const link = join(models, `link-${origin}`);
      symlinkSync(join(outside, 'model'), link);
      const sent = { headers: bearer(keys.right) };
      const validate = (selected_model: string, from: Origin = origin) =>
        ask(from, 'POST', '/api/finetune/validate_model', { ...sent, body: { selected_model } });
      for (const path of [
        join(outside, 'model'),
        link,
        join(outside, 'missing'),
        '/',
        '~/x',
        '../x',
        `${models}/../../../..`,
        `${service.dataDir}-2/x`,
      ]) {
        const { status, body } = await validate(path);
        assert.is(status, 403, `${path}: ${JSON.stringify(body)}`);
        assert.match(body.detail, '--allow-path');
        assert.is((await validate(path, 'loopback')).status, 400, path);
      }
      for (const path of [join(models, 'missing'), join(allowed, 'missing')]) {
        const { status, body } = await validate(path);
        assert.is(status, 400, path);
        assert.match(JSON.stringify(body.detail), 'does not exist');
      }
    });

    test(`an error tells no path of this machine, ${origin}`, async () => {
      const path = join(service.dataDir, 'missing');
      const body = { selected_model: path };
      const { text } = await ask(origin, 'POST', '/api/finetune/validate_model', {
        headers: bearer(keys.right),
        body,
      });
      assert.not.match(text, service.dataDir);
      const same = await ask('loopback', 'POST', '/api/finetune/validate_model', { body });
      assert.match(same.text, service.dataDir);
    });
  }

  test('every field that can name a path is checked', async () => {
    const file = join(outside, 'rows.jsonl');
    writeFileSync(file, '');
    const pathLike = /model|data|path|folder|repo|(?<!pro)file/;
    /** They name a stored model, a repository to push to, or text to search for. */
    const harmless = new Set([
      ...['model', 'model_id', 'dataset_id', 'use_chat_template', 'target_modules'],
      'POST /api/hub/push repo_name',
      'POST /api/models/{model_id}/push repo_name',
      'GET /api/jobs model_name',
      'GET /api/jobs dataset',
    ]);
    let checked = 0;
    for (const [path, methods] of Object.entries(document.paths as Json)) {
      for (const [method, operation] of Object.entries(methods as Json) as [string, Json][]) {
        const properties = operation.requestBody?.content?.['application/json']?.schema?.properties ?? {};
        const query = (operation.parameters ?? []).filter((one: Json) => one.in === 'query');
        const name = `${method.toUpperCase()} ${path}`;
        const isHarmless = (field: string) => harmless.has(field) || harmless.has(`${name} ${field}`);
        for (const field of Object.keys(properties).filter((one) => pathLike.test(one) && !isHarmless(one))) {
          const got = await ask('forwarded', method.toUpperCase(), path.replace(/\{\w+\}/g, 'x'), {
            headers: bearer(keys.right),
            body: { [field]: file },
          });
          assert.is(got.status, 403, `${name} ${field}: ${got.text}`);
          checked += 1;
        }
        for (const { name: field } of query.filter(
          (one: Json) => pathLike.test(one.name) && !isHarmless(one.name),
        )) {
          const target = `${path.replace(/\{\w+\}/g, 'x')}?${new URLSearchParams({ [field]: file })}`;
          const got = await ask('forwarded', method.toUpperCase(), target, { headers: bearer(keys.right) });
          assert.is(got.status, 403, `${name} ${field}: ${got.text}`);
          checked += 1;
        }
      }
    }
    assert.ok(checked >= 14, `${checked} fields`);
  });

  test('removing a key ends its sessions and closes its sockets', async () => {
    const { id, key } = await makeKey('short', 'full');
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    const signedIn = await ask('forwarded', 'POST', '/api/session', { body: { key } });
    const cookie = (signedIn.headers['set-cookie'] as unknown as string[])[0]?.split(';', 1)[0] as string;
    const sockets = [{ cookie }, bearer(key)].map(
      (own) => new WebSocket(`ws://127.0.0.1:${port}/ws/training`, { headers: { ...headers, ...own } }),
    );
    await until(
      () => sockets.every((socket) => socket.readyState === WebSocket.OPEN),
      'the sockets are open',
    );
    const codes: number[] = [];
    for (const socket of sockets) socket.on('close', (code) => codes.push(code));
    assert.is((await service.call('DELETE', `/api/keys/${id}`)).status, 200);
    assert.is((await ask('forwarded', 'GET', '/api/info', { headers: { cookie } })).status, 401);
    await until(() => codes.length === 2, 'the sockets are closed');
    assert.equal(codes, [1008, 1008]);
  });

  test.after(() => service?.end().then(() => undefined));
  test.run();
}

// Elsewhere, clients cannot have loopback addresses of their own.
if (process.platform === 'linux') for (const engine of engines) testOn(engine);
else console.log('Access is tested on Linux only');

const last = suite('the end');
last('of everything', () => undefined);
last.after(async () => {
  local.end();
  if (typeof far !== 'string') far.end();
  await endAll();
});
last.run();
