/** A real cluster on this machine: started, shown, trained on, and ended without a trace. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
  untilEnded,
} from '../service.ts';
import { appearanceFaults } from '../ui/appearance.ts';
import { closeBrowser, openPage, sees } from '../ui/browser.ts';

const run = promisify(execFile);
const dataDir = temporaryFolder();
const token = join(dataDir, 'cluster', 'token');

const hone = (...args: string[]) =>
  run(process.execPath, [join(root, 'dist', 'main.js'), ...args], {
    env: { ...process.env, SERVICE_DATA_DIR: dataDir },
  });

/** A node takes ten seconds to join on an idle machine. */
const patienceMs = 600_000;

/** What `/api/info` says of the cluster. */
const cluster = async () => (await service.call('GET', '/api/info')).body.cluster;

/** The children of a process, their children, and so on. */
async function processesBelow(pid: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=']);
  const all = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
  const below = (parent: number): number[] =>
    all.filter(([, of]) => of === parent).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}

/** The process by which Ray belongs to a cluster, of a node that `pid` runs. */
async function rayletBelow(pid: number): Promise<number | undefined> {
  const programs = (await processesBelow(pid)).map(async (each) => ({
    each,
    program: await readFile(`/proc/${each}/cmdline`, 'utf8').catch(() => ''),
  }));
  return (await Promise.all(programs)).find(({ program }) => program.split('\0')[0]?.endsWith('/raylet'))
    ?.each;
}

const nodeCount = async (): Promise<number> => (await cluster()).nodes.length;

/** A second node, by `hone join` with a data folder of its own. */
async function joinedNode() {
  const folder = temporaryFolder();
  const node = spawn(process.execPath, [join(root, 'dist', 'main.js'), 'join', `${host}:${port}`], {
    env: {
      ...process.env,
      SERVICE_DATA_DIR: folder,
      SERVICE_CLUSTER_TOKEN: readFileSync(token, 'utf8'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => node.once('exit', (code) => resolve(code)));
  await until(async () => (await nodeCount()) === 2, 'the node has joined', patienceMs);
  return { folder, node, ended };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The address of this machine, at which a second node can join; only the head alone can be on loopback. */
const own = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
const host = own ?? '127.0.0.1';
let port: number;
let service: TestService;
test.before(async () => {
  port = await freePort();
});
test.after(async () => {
  await closeBrowser();
  await endAll();
  await hone('cluster', 'stop');
});

test('a cluster starts with a token that only this user can read', async () => {
  const { stdout } = await hone('cluster', 'start', '--host', host, '--port', String(port));
  assert.match(stdout, `hone serve --cluster ${host}:${port}`);
  assert.is(statSync(token).mode & 0o777, 0o600);
  assert.not.match(stdout, readFileSync(token, 'utf8'));
  const second = await hone('cluster', 'start', '--host', host, '--port', String(port)).catch(
    (error) => error,
  );
  assert.match(second.stderr, 'A cluster is running at');
});

test('a run with two workers trains on it', async () => {
  service = await startService({ dataDir, args: ['--cluster', `${host}:${port}`] });
  assert.is(typeof (await cluster()).available, 'boolean', 'without a wait for the head');
  await until(async () => (await cluster()).available, 'the head has answered', patienceMs);
  const { address, nodes, asked_at: askedAt } = await cluster();
  assert.equal([address, nodes.length, nodes[0].address], [`${host}:${port}`, 1, host]);
  assert.ok(Date.parse(askedAt) <= Date.now());
  assert.is((await service.call('GET', '/api/info')).body.engines.at(-1).available, true);
  const { page, faults } = await openPage(service.url, '/');
  const node = page.locator('.cluster-nodes > li', { hasText: host });
  const { cpus } = nodes[0];
  await node.getByText(`${cpus} of ${cpus} free`).waitFor();
  assert.equal(await appearanceFaults(page, 'cluster'), []);
  assert.is((await service.upload('support.jsonl', supportRows())).status, 200);
  const { status, body } = await service.call(
    'POST',
    '/api/start_training',
    quickRequest({ workers: 2, gradient_accumulation_steps: 2 }),
  );
  assert.is(status, 200, JSON.stringify(body));
  assert.is((await untilEnded(service)).status, 'completed');
  await page.goto(`${service.url}/training/${body.job_id}`);
  const { body: job } = await service.call('GET', `/api/jobs/${body.job_id}`);
  assert.equal(job.engine, { name: 'cluster', nodes: { [host]: 2 } });
  await sees(page, '2 workers on a cluster (1 node)');
  assert.equal(faults, []);
});

test('another node joins, and again when it was lost; Ctrl+C makes it leave without a trace', async () => {
  if (own === undefined) return;
  const { folder, node, ended } = await joinedNode();
  let told = '';
  node.stdout.on('data', (chunk) => {
    told += chunk;
  });
  // As after a cut of the network, when Ray ends it itself.
  const lost = await rayletBelow(node.pid as number);
  process.kill(lost as number, 'SIGKILL');
  await until(() => told.includes('joining again'), 'the node notices that it was lost', patienceMs);
  await until(() => rayletBelow(node.pid as number), 'the node starts again', patienceMs);
  const since = Date.now();
  const both = async () => {
    const { nodes, asked_at: askedAt } = await cluster();
    return nodes.length === 2 && Date.parse(askedAt) > since;
  };
  await until(both, 'the node has joined again', patienceMs);
  const descendants = await processesBelow(node.pid as number);
  assert.ok(descendants.length > 1);
  node.kill('SIGINT');
  assert.is(await ended, 0);
  await until(async () => (await nodeCount()) === 1, 'the node has left', patienceMs);
  for (const pid of descendants) assert.not(existsSync(`/proc/${pid}`), `process ${pid}`);
  assert.equal(readdirSync(join(folder, 'cluster', 'node')), ['files']);
});

test('a node whose `hone join` is killed leaves, too', async () => {
  if (own === undefined) return;
  const { node, ended } = await joinedNode();
  const descendants = await processesBelow(node.pid as number);
  assert.ok(descendants.length > 1);
  node.kill('SIGKILL');
  await ended;
  const isLeft = (pid: number) => existsSync(`/proc/${pid}`);
  await until(() => !descendants.some(isLeft), 'no process is left', patienceMs);
  await until(async () => (await nodeCount()) === 1, 'the node has left', patienceMs);
});

test('nothing of it stays when it ends', async () => {
  const head = JSON.parse(readFileSync(join(dataDir, 'cluster', 'head.json'), 'utf8'));
  assert.match((await hone('cluster', 'stop')).stdout, 'has ended');
  const { stdout: processes } = await run('ps', ['-A', '-ww', '-o', 'args='], { maxBuffer: 2 ** 24 });
  assert.not.match(processes, head.temporaryDir);
  assert.not(existsSync(head.temporaryDir));
  const refused = await hone('join', `${host}:${port}`).catch((error) => error);
  assert.match(refused.stderr, 'Nothing answers at');
});

test.run();
