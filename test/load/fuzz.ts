import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { littleInstallation } from '../jobs/little-installation.ts';
import { randomFrom, seed } from '../random.ts';
import { endAll, startService, supportRows, type TestService, temporaryFolder } from '../service.ts';
import { storeModel } from '../stored-model.ts';
import { type MadeRequest, rawBytes, requestsFrom } from './made-requests.ts';
import { inMegabytes, resourcesOf } from './resources.ts';

/** One in so many requests is raw bytes on a socket of its own. */
const rawEvery = 10;
const lanes = 16;
/** Allocators and caches settle during the first requests; after them memory may not grow by more. */
const growthBytes = 64e6;

/**
 * Sends `count` random requests to a service of its own and judges every answer.
 * @param options.env is added to its environment.
 * @param options.growthBytes by which its memory may grow.
 * @param options.afterEnd runs when it has ended.
 */
export function fuzz(
  engine: 'uws' | 'node',
  count: number,
  options: {
    readonly env?: NodeJS.ProcessEnv;
    readonly growthBytes?: number;
    readonly afterEnd?: () => void;
  } = {},
): void {
  test(`${count} fuzzed requests to the ${engine} engine (seed ${seed}): no exit, no undocumented 5xx, no leak`, async () => {
    const dataDir = temporaryFolder();
    storeModel(dataDir);
    const service = await startService({
      dataDir,
      env: {
        ...littleInstallation('exit-code'),
        HONE_HTTP: engine,
        HF_HUB_OFFLINE: '1',
        HF_HOME: temporaryFolder(),
        ...options.env,
      },
    });
    await service.upload('support.jsonl', supportRows());
    const pid = service.process.pid as number;
    let said = '';
    service.process.stderr?.on('data', (chunk) => {
      said += chunk;
    });
    const random = randomFrom(seed);
    const next = requestsFrom((await service.call('GET', '/api/openapi.json')).body, random);
    const agent = new Agent({ keepAlive: true, maxSockets: lanes });
    const statuses = new Map<number, number>();
    const wrong: string[] = [];
    let sent = 0;

    async function lane(until: number): Promise<void> {
      while (sent < until && wrong.length < 10) {
        sent += 1;
        if (sent % 50_000 === 0) console.log(`${sent} requests`);
        if (sent % rawEvery === 0) {
          await sendRaw(service, rawBytes(random));
          continue;
        }
        const made = next();
        const status = await send(service, agent, made);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status >= 500 && !made.documented.includes(status))
          wrong.push(`${status} ${JSON.stringify(made)}`);
      }
    }
    const run = (until: number) => Promise.all(Array.from({ length: lanes }, () => lane(until)));

    await run(Math.ceil(count / 5));
    assert.is(service.process.exitCode, null, said);
    const before = resourcesOf(pid);
    await run(count);
    agent.destroy();
    assert.is(service.process.exitCode, null, said);
    assert.is((await service.call('GET', '/api/health')).status, 200);
    const after = resourcesOf(pid);
    console.log(
      `figure: ${engine}: ${sent} requests, answers ${JSON.stringify(Object.fromEntries([...statuses].sort()))}, ` +
        `memory ${inMegabytes(before.residentBytes)} → ${inMegabytes(after.residentBytes)}, ` +
        `descriptors ${before.descriptors} → ${after.descriptors}`,
    );
    assert.equal(wrong, []);
    assert.equal(
      service.log.filter(({ level }) => level >= 50).map(({ msg, error }) => `${msg}: ${error}`),
      [],
    );
    const growth = after.residentBytes - before.residentBytes;
    assert.ok(growth < (options.growthBytes ?? growthBytes), 'memory is flat');
    assert.ok(after.descriptors <= before.descriptors + lanes, 'descriptors are flat');
    assert.is(await service.end(), 0, said);
    options.afterEnd?.();
  });
  test.after(endAll);
}

/** @returns the status, or 0 when the connection was closed without one. */
function send(service: TestService, agent: Agent, made: MadeRequest): Promise<number> {
  const body = made.body === undefined ? undefined : Buffer.from(made.body);
  return new Promise((resolve) => {
    const call = request(
      service.url + made.path,
      {
        agent,
        method: made.method,
        headers: { ...made.headers, ...(body ? { 'content-length': body.length } : {}) },
        timeout: 120_000,
      },
      (response) => {
        response.resume();
        response.once('close', () => resolve(response.statusCode ?? 0));
      },
    );
    call.once('timeout', () => call.destroy());
    call.once('error', () => resolve(0));
    call.end(body);
  });
}

/** Sends bytes, and hangs up after an answer or a moment. */
function sendRaw(service: TestService, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1' }, () =>
      socket.write(bytes),
    );
    socket.setTimeout(50, () => socket.destroy());
    socket.once('data', () => socket.destroy());
    socket.once('error', () => socket.destroy());
    socket.once('close', () => resolve());
  });
}
