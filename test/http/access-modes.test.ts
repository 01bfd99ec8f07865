/** The access modes, the first key, TLS, and the user's own commands in each of them. */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import WebSocket from 'ws';
import { createClient } from '../../src/client/http-client.ts';
import { fetchLocal, readLocalService } from '../../src/client/local-service.ts';
import { endAll, root, startService, type TestService, temporaryFolder, until } from '../service.ts';

const run = promisify(execFile);
const main = join(root, 'dist', 'main.js');
const environmentKey = 'k'.repeat(32);

test.after(endAll);

const status = async (service: TestService, key?: string) => {
  const headers = { connection: 'close', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  return (await fetch(`${service.url}/api/models`, { headers })).status;
};

/** `hone stop` beside a running service without a training. */
async function stopIn(dataDir: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, SERVICE_DATA_DIR: dataDir };
  return run(process.execPath, [main, 'stop'], { env, cwd: dataDir }).then(
    (done) => ({ code: 0, ...done }),
    (error) => error,
  );
}

/** The user's own commands work without a key of theirs. */
async function checkOwnCommands(service: TestService): Promise<void> {
  const stopped = await stopIn(service.dataDir);
  assert.is(stopped.code, 1, stopped.stderr);
  assert.match(stopped.stdout, 'No training is in progress');
  const local = readLocalService(service.dataDir);
  assert.ok(local);
  if (process.platform !== 'win32') {
    assert.is(statSync(join(service.dataDir, 'service.json')).mode & 0o777, 0o600);
  }
  const client = createClient(local);
  assert.ok(await client.get('/api/models'));
  const { filename } = await client.upload(join(root, 'examples', 'support.jsonl'), 'mine.jsonl');
  assert.is(filename, 'mine.jsonl');
  await service.end();
  assert.not(existsSync(join(service.dataDir, 'service.json')));
}

const logOf = (service: TestService) => service.log.map(({ msg }) => msg).join('\n');

test('key: everyone needs a key; the first is written to a file of this user, and not to the log', async () => {
  const service = await startService({
    args: ['--access', 'key', '--host', '0.0.0.0'],
    env: { HONE_ACCESS: 'open' },
  });
  const path = join(service.dataDir, 'access-key');
  await until(() => logOf(service).includes('The first access key is in'), 'the log tells of the key');
  if (process.platform !== 'win32') assert.is(statSync(path).mode & 0o777, 0o600);
  const key = readFileSync(path, 'utf8').trim();
  assert.match(key, /^hone_[0-9a-f]{8}_[\w-]{43}$/);
  assert.not.match(JSON.stringify(service.log), key.slice(14));
  assert.is(await status(service), 401);
  assert.is(await status(service, key), 200);
  assert.is((await fetch(`${service.url}/api/health`)).status, 200);
  assert.is((await service.call('GET', '/api/session')).body.key_needed, true);
  await checkOwnCommands(service);
  // The next start makes no other.
  const again = await startService({ dataDir: service.dataDir, args: ['--access', 'key'] });
  assert.is(await status(again, key), 200);
  assert.is(readFileSync(path, 'utf8').trim(), key);
  await again.end();
});

test('auto: a service that others cannot reach makes no key and says nothing', async () => {
  const service = await startService({});
  assert.not(existsSync(join(service.dataDir, 'access-key')));
  assert.not.match(logOf(service), /access/i);
  assert.is(await status(service), 200);
  assert.is(await status(service, 'unused'), 200);
  const forwarded = { 'x-forwarded-for': '127.0.0.1', connection: 'close' };
  assert.is((await fetch(`${service.url}/api/models`, { headers: forwarded })).status, 401);
  await checkOwnCommands(service);
});

test('open: nobody needs a key, which the log and the page are told', async () => {
  const service = await startService({ args: ['--host', '0.0.0.0'], env: { HONE_ACCESS: 'open' } });
  await until(
    () => logOf(service).includes('Access is open: everyone who reaches this machine'),
    'the log warns',
  );
  assert.is(service.log.find(({ msg }) => msg.startsWith('Access is open')).level, 40);
  assert.not(existsSync(join(service.dataDir, 'access-key')));
  const headers = { 'x-forwarded-for': '192.0.2.1', connection: 'close' };
  assert.is((await fetch(`${service.url}/api/models`, { headers })).status, 200);
  const { access, reachable, key_needed } = (await service.call('GET', '/api/session')).body;
  assert.equal({ access, reachable, key_needed }, { access: 'open', reachable: true, key_needed: false });
  await checkOwnCommands(service);
});

test('two services on one host do not sign each other out', async () => {
  const cookies: string[] = [];
  const both = [];
  for (let index = 0; index < 2; index += 1) {
    const service = await startService({
      args: ['--access', 'key'],
      env: { HONE_ACCESS_KEY: environmentKey },
    });
    const response = await fetch(`${service.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ key: environmentKey }),
    });
    cookies.push(response.headers.get('set-cookie')?.split(';', 1)[0] as string);
    both.push(service);
  }
  // As a browser: the cookies of a host go to each of its ports, one for each name.
  const jar = new Map(cookies.map((cookie) => cookie.split('=') as [string, string]));
  assert.is(jar.size, 2);
  const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
  for (const service of both) {
    const headers = { cookie, connection: 'close' };
    const session = await (await fetch(`${service.url}/api/session`, { headers })).json();
    assert.is(session.signed_in, true);
    await service.end();
  }
});

test('HONE_ACCESS_KEY is a key, in place of the first', async () => {
  const args = ['--access', 'key', '--host', '0.0.0.0', '--trusted-proxy', '127.0.0.1'];
  const service = await startService({ args, env: { HONE_ACCESS_KEY: environmentKey } });
  assert.is(await status(service, environmentKey), 200);
  assert.is(await status(service, `${environmentKey}k`), 401);
  assert.not(existsSync(join(service.dataDir, 'access-key')));
  // A trusted proxy that serves TLS.
  const response = await fetch(`${service.url}/api/session`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': '192.0.2.1',
      'x-forwarded-proto': 'https',
    },
    body: JSON.stringify({ key: environmentKey }),
  });
  assert.is(response.status, 200);
  assert.match(response.headers.get('set-cookie') ?? '', /; Secure$/);
  // Wrong keys count for the client, not for its proxy.
  for (let time = 0; time <= 10; time += 1) {
    const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': '192.0.2.1', connection: 'close' };
    const { status } = await fetch(`${service.url}/api/models`, { headers });
    assert.is(status, time < 10 ? 401 : 429);
  }
  const headers = {
    authorization: `Bearer ${environmentKey}`,
    'x-forwarded-for': '192.0.2.2',
    connection: 'close',
  };
  assert.is((await fetch(`${service.url}/api/models`, { headers })).status, 200);
  await service.end();
});

const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;
if (!hasTerminal) console.log('The terminal is left out: there is no script(1) to make one with');
const terminalTest = hasTerminal ? test : test.skip;

terminalTest('a terminal is shown the address of the page with the first key', async () => {
  const dataDir = temporaryFolder();
  const command = `'${process.execPath}' '${main}' serve --port 0 --host 0.0.0.0`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: dataDir,
    env: { ...process.env, SERVICE_DATA_DIR: dataDir, HONE_TEST_LIMITS: '{"warmTrainerIdleMs":0}' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  let shown = '';
  child.stdout.on('data', (piece) => {
    shown += piece;
  });
  const [, url, key] = (await until(
    () =>
      /Open the page from elsewhere: (http:\/\/[\d.a-z]+:\d+)\/#key=(hone_\w{8}_[\w-]{43})\r?\n/.exec(shown),
    'the terminal shows the key',
  )) as RegExpExecArray;
  const local = readLocalService(dataDir);
  assert.is(new URL(url as string).port, new URL(local?.url as string).port);
  const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': '192.0.2.1', connection: 'close' };
  assert.is((await fetch(`${local?.url}/api/models`, { headers })).status, 200);
  assert.not(existsSync(join(dataDir, 'access-key')));
  const logged = shown.split('\n').filter((line) => line.startsWith('{'));
  assert.ok(logged.length > 0 && logged.every((line) => !line.includes(key as string)));
  process.kill(local?.pid as number, 'SIGTERM');
  await ended;
});

test('invalid access settings end the start with what to do', async () => {
  const folder = temporaryFolder();
  const text = join(folder, 'text.pem');
  writeFileSync(text, 'text');
  const cases: [string[], NodeJS.ProcessEnv, RegExp][] = [
    [[], { HONE_ACCESS_KEY: 'short' }, /HONE_ACCESS_KEY must have at least 32 characters/],
    [[], { HONE_ACCESS: 'closed' }, /HONE_ACCESS must be one of auto, key, open, not "closed"/],
    [['--access', 'no'], {}, /--access must be one of auto, key, open/],
    [['--trusted-proxy', 'proxy'], {}, /--trusted-proxy must be an IP address/],
    [['--tls-cert', text], {}, /TLS needs both/],
    [['--tls-cert', text, '--tls-key', text], {}, /--tls-cert .*text\.pem is not a certificate/],
    [['--tls-cert', join(folder, 'none'), '--tls-key', text], {}, /--tls-cert cannot be read: ENOENT/],
  ];
  await Promise.all(
    cases.map(async ([args, env, message]) => {
      const service = ['serve', '--host', '127.0.0.1', '--port', '0', ...args];
      const failed = await run(process.execPath, [main, ...service], {
        cwd: folder,
        env: { ...process.env, SERVICE_DATA_DIR: folder, ...env },
      }).then(
        () => assert.unreachable(message.source),
        (error) => error,
      );
      assert.is(failed.code, 1);
      assert.match(failed.stderr, message);
      assert.is(failed.stderr.trim().split('\n').length, 1, failed.stderr);
    }),
  );
});

/** A certificate of its own signature, with its key. */
function makeCertificate(): { cert: string; key: string } {
  const folder = temporaryFolder();
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
  ];
  execFileSync(
    'openssl',
    [
      ...args,
      '-subj',
      '/CN=hone.example',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      cert,
    ],
    {
      stdio: 'ignore',
    },
  );
  return { cert, key };
}

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) console.log('TLS is left out: there is no openssl to make a certificate with');
const tlsTest = hasOpenssl ? test : test.skip;

tlsTest('TLS: page, API, socket and own commands; cookies for TLS alone', async () => {
  const { cert, key } = makeCertificate();
  const args = ['--access', 'key', '--tls-cert', cert, '--tls-key', key];
  const service = await startService({ args, env: { HONE_ACCESS_KEY: environmentKey, HONE_HTTP: '' } });
  assert.match(service.url, /^https:\/\/127\.0\.0\.1:\d+$/);
  assert.match(service.log[0].msg, 'the HTTPS server of Node');
  const ca = readFileSync(cert);
  const ask = (method: string, path: string, headers: Record<string, string>, body?: string) =>
    new Promise<{ status: number; cookie: string; text: string }>((resolve, reject) => {
      const sent = request(
        `${service.url}${path}`,
        { method, headers, ca, agent: false },
        async (response) => {
          let text = '';
          for await (const piece of response.setEncoding('utf8')) text += piece;
          resolve({ status: response.statusCode ?? 0, cookie: String(response.headers['set-cookie']), text });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  assert.match((await ask('GET', '/', {})).text, '<!doctype html>');
  assert.is((await ask('GET', '/api/models', {})).status, 401);
  assert.is((await ask('GET', '/api/models', { authorization: `Bearer ${environmentKey}` })).status, 200);
  const json = { 'content-type': 'application/json' };
  const { cookie } = await ask('POST', '/api/session', json, JSON.stringify({ key: environmentKey }));
  assert.match(cookie, /^hone_session_[0-9a-f]{8}=.*; Secure$/);
  const headers = { cookie: cookie.split(';', 1)[0] as string };
  const socket = new WebSocket(`${service.url.replace('https', 'wss')}/ws/training`, {
    ca,
    headers,
  });
  const first = await new Promise<string>((resolve, reject) => {
    socket.on('message', (data) => resolve(String(data)));
    socket.on('error', reject);
  });
  socket.terminate();
  assert.is(JSON.parse(first).type, 'snapshot');
  // Plain HTTP gets no answer on this port.
  await fetch(service.url.replace('https', 'http')).then(
    () => assert.unreachable('answered'),
    () => undefined,
  );
  // Another certificate at the address is not believed.
  const local = readLocalService(service.dataDir);
  assert.ok(local?.certificate);
  const other = { ...local, certificate: local.certificate.replace(/../g, '00') };
  await fetchLocal(other, '/api/models').then(
    () => assert.unreachable('answered'),
    (error) => assert.match(error.message, 'another certificate'),
  );
  await checkOwnCommands(service);
});

tlsTest('TLS: a key that is not of the certificate, and an engine that serves none', async () => {
  const [one, two] = [makeCertificate(), makeCertificate()];
  const start = (key: string, engine: string) =>
    run(process.execPath, [main, '--port', '0', '--tls-cert', one.cert, '--tls-key', key], {
      env: { ...process.env, SERVICE_DATA_DIR: temporaryFolder(), HONE_HTTP: engine },
    }).then(
      () => assert.unreachable('started'),
      ({ code, stderr }) => ({ code, stderr }),
    );
  const mixed = await start(two.key, '');
  assert.is(mixed?.code, 1);
  assert.match(mixed?.stderr, 'is not the unencrypted private key');
  const uws = await start(one.key, 'uws');
  assert.is(uws?.code, 1);
  assert.match(uws?.stderr, 'HONE_HTTP=uws does not serve TLS');
});

test.run();
