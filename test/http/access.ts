/** Services of both engines that others reach, and every kind of client and key for them. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, type Json, startService, type TestService, temporaryFolder } from '../service.ts';
import { type Clients, farClients, type Got, localClients, type Sent } from './clients.ts';
import { engines } from './engines.ts';

/** Where a client is. A forwarded request comes from a proxy on this machine that is not trusted. */
export type Origin = 'loopback' | 'network' | 'forwarded';

/** One operation of the OpenAPI document, or another request. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly set: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A service with its keys. Its fields are set before the first test. */
export interface AccessFixture {
  service: TestService;
  port: number;
  document: Json;
  cookieName: string;
  readonly operations: Operation[];
  readonly keys: Record<'right' | 'inference' | 'revoked' | 'wrong', string>;
  /** A folder that clients on other machines may name. */
  readonly allowed: string;
  /** An address there that no request has come from yet, because wrong keys are counted by address. */
  freshAddress(origin: Origin): string;
  makeKey(name: string, scope: string): Promise<{ id: string; key: string }>;
  /** Asks as a client from there, each time from another address unless `sent.from` says otherwise. */
  ask(origin: Origin, method: string, path: string, sent?: Sent): Promise<Got>;
}

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

export const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** Set in the process that `runsInOwnNetwork` starts. */
const mark = 'HONE_TEST_OWN_NETWORK';

/**
 * Runs this file again in a network namespace of its own (unshare(1)), where that is possible: Chromium, in tests that run
 * at the same time, ends its requests whenever a device of its network gets an address (ERR_NETWORK_CHANGED).
 * @returns whether another process runs the tests.
 */
function runsInOwnNetwork(): boolean {
  if (process.env[mark] !== undefined) {
    execFileSync('ip', ['link', 'set', 'lo', 'up']);
    return false;
  }
  if (spawnSync('unshare', ['--net', 'true']).status !== 0) return false;
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const child = spawn('unshare', ['--net', ...command], {
    stdio: 'inherit',
    env: { ...process.env, [mark]: 'yes' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => child.kill(signal));
  child.once('close', (code) => {
    process.exitCode = code ?? 1;
  });
  return true;
}

/**
 * Runs tests on each HTTP engine, with a service of its own.
 * @param define defines them, for the places that clients can be at here.
 */
export function testAccess(
  define: (test: Test, fixture: AccessFixture, origins: readonly Origin[]) => void,
): void {
  // Elsewhere, clients cannot have loopback addresses of their own.
  if (process.platform !== 'linux') {
    console.log('Access is tested on Linux only');
    return;
  }
  if (runsInOwnNetwork()) return;
  const far = farClients();
  const local = localClients();
  if (typeof far === 'string') console.log(`Clients on another machine are left out: ${far}`);
  const origins: readonly Origin[] = [
    'loopback',
    ...(typeof far === 'string' ? [] : (['network'] as const)),
    'forwarded',
  ];
  const clientsOf = (origin: Origin): Clients => (origin === 'network' ? (far as Clients) : local);
  for (const engine of engines) {
    const test = suite(engine);
    const fixture: AccessFixture = {
      ...{ service: null as unknown as TestService, port: 0, document: null, cookieName: '', operations: [] },
      keys: { right: '', inference: '', revoked: '', wrong: `hone_00000000_${'A'.repeat(43)}` },
      allowed: temporaryFolder(),
      freshAddress: (origin) => clientsOf(origin).freshAddress(),
      async makeKey(name, scope) {
        const { status, body } = await fixture.service.call('POST', '/api/keys', { name, scope });
        assert.is(status, 200);
        return body;
      },
      ask: (origin, method, path, sent = {}) =>
        clientsOf(origin).ask(fixture.port, method, path, {
          ...sent,
          from: sent.from ?? clientsOf(origin).freshAddress(),
          headers: { ...(origin === 'forwarded' ? { 'x-forwarded-for': '127.0.0.1' } : {}), ...sent.headers },
        }),
    };
    test.before(() => prepare(fixture, engine));
    define(test, fixture, origins);
    test.after(() => fixture.service?.end().then(() => undefined));
    test.run();
  }
  const last = suite('the end');
  last('of everything', () => undefined);
  last.after(async () => {
    local.end();
    if (typeof far !== 'string') far.end();
    await endAll();
  });
  last.run();
}

async function prepare(fixture: AccessFixture, engine: string): Promise<void> {
  const { keys, makeKey, operations } = fixture;
  const service = await startService({
    args: ['--host', '0.0.0.0', '--allow-path', fixture.allowed],
    env: { HONE_HTTP: engine, HF_HUB_OFFLINE: '1' },
  });
  fixture.service = service;
  fixture.port = Number(new URL(service.url).port);
  keys.right = (await makeKey('right', 'full')).key;
  keys.inference = (await makeKey('inference', 'inference')).key;
  const revoked = await makeKey('revoked', 'full');
  keys.revoked = revoked.key;
  assert.is((await service.call('DELETE', `/api/keys/${revoked.id}`)).status, 200);
  fixture.document = (await service.call('GET', '/api/openapi.json')).body;
  fixture.cookieName = fixture.document.components.securitySchemes.cookie.name;
  const described = Object.entries(fixture.document.paths as Json).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([method, { tags }]: [string, Json]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: path.replace(/\{\w+\}/g, 'x'),
      // A path segment that is not of digits belongs to the first set.
      set: tags[0] as string,
    })),
  );
  assert.ok(described.length > 50);
  operations.push(
    ...described,
    { name: 'the socket', method: 'GET', path: '/ws/training', set: 'hone', headers: handshake },
    { name: 'a path of nothing', method: 'GET', path: '/api/nothing', set: 'hone' },
    { name: 'a method that a path has not', method: 'PUT', path: '/api/info', set: 'hone' },
    { name: 'the methods of a path', method: 'OPTIONS', path: '/v1/models', set: 'openai' },
    { name: 'the head of an answer', method: 'HEAD', path: '/api/models', set: 'hone' },
  );
}
