import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { lookAtCluster, rayEnvironment, rayNode } from '../trainer/cluster.ts';
import { isAlive, type ProcessIdentity, signalGroup, spawnDetached } from '../trainer/processes/process.ts';

const usage = 'Use "hone cluster start [--host ADDRESS] [--port N]" or "hone cluster stop".';

/** How long Ray may take to start and to end. Both take seconds. */
const startMs = 120_000;
const endMs = 30_000;
const pollMs = 250;

/** The head that `hone cluster start` started. */
interface Head extends ProcessIdentity {
  readonly address: string;
  readonly temporaryDir: string;
}

const headPath = (config: Config) => join(config.clusterDir, 'head.json');

/** Where this machine keeps the token and what its node receives. */
export const clusterFiles = (config: Config) => ({
  tokenPath: join(config.clusterDir, 'token'),
  nodeDir: join(config.clusterDir, 'node'),
});

/**
 * `hone cluster`: starts or stops the head of a cluster on this machine, which is also its first node.
 * @throws AppError `invalid`, `conflict` or `unavailable`.
 */
export async function runClusterCommand(config: Config): Promise<void> {
  const [action, ...rest] = config.operands;
  if (rest.length === 0 && action === 'start') await start(config);
  else if (rest.length === 0 && action === 'stop') await stop(config);
  else throw new AppError('invalid', usage);
}

/** Writes a file that only this user can read. */
export function writeSecret(config: Config, token: string): void {
  const { tokenPath } = clusterFiles(config);
  mkdirSync(config.clusterDir, { recursive: true, mode: 0o700 });
  rmSync(tokenPath, { force: true });
  writeFileSync(tokenPath, token, { mode: 0o600, flag: 'wx' });
}

async function start(config: Config): Promise<void> {
  const { host, port } = config;
  const mine = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  if (isIP(host) === 0 || !mine.some(({ address }) => address === host)) {
    const others = mine.filter(({ internal, family }) => !internal && family === 'IPv4');
    throw new AppError(
      'invalid',
      `--host must be the address at which other machines reach this one (${others.map(({ address }) => address).join(', ') || 'it has none'}) or 127.0.0.1, not "${host}".`,
    );
  }
  const running = await readHead(config);
  if (running !== null) throw new AppError('conflict', `A cluster is running at ${running.address}.`);
  const files = clusterFiles(config);
  mkdirSync(files.nodeDir, { recursive: true, mode: 0o700 });
  if (!existsSync(files.tokenPath)) writeSecret(config, randomBytes(32).toString('hex'));
  const temporaryDir = mkdtempSync(join(tmpdir(), 'hone-ray-'));
  const address = `${host}:${port}`;
  const logPath = join(config.clusterDir, 'log.txt');
  const { identity, ended } = await spawnDetached(
    rayNode(config, host, [
      ...['--head', '--port', String(port), '--temp-dir', temporaryDir],
      // No web page and no autoscaler.
      ...['--include-dashboard=false', '--no-monitor'],
    ]),
    { cwd: config.clusterDir, env: rayEnvironment(config, files, host.startsWith('127.')), logPath },
  );
  writeFileSync(headPath(config), JSON.stringify({ ...identity, address, temporaryDir } satisfies Head));
  process.stdout.write(`hone: starting a cluster at ${address} …\n`);
  const failed = ended.then(() => 'ended' as const);
  const deadline = performance.now() + startMs;
  const command = { ...config, cluster: { address, tokenPath: files.tokenPath } };
  for (;;) {
    const state = await Promise.race([lookAtCluster(command), failed]);
    if (state !== 'ended' && state?.available && state.nodes.length > 0) break;
    if (state === 'ended' || performance.now() > deadline) {
      if ((await readHead(config)) !== null) await stop(config);
      rmSync(temporaryDir, { recursive: true, force: true });
      const lines = readFileSync(logPath, 'utf8').trim().split('\n');
      const reason = lines.findLast((line) => line.includes('Error')) ?? lines.at(-1);
      throw new AppError('unavailable', `The cluster did not start (${reason}). Its log is ${logPath}.`);
    }
    await sleep(pollMs);
  }
  process.stdout.write(
    [
      `hone: the cluster runs at ${address}. Its token is in ${files.tokenPath}.`,
      `  train on it:              hone serve --cluster ${address}`,
      ...(host.startsWith('127.')
        ? ['  other machines:           start it with --host and the address of this machine']
        : [`  on each other machine:    SERVICE_CLUSTER_TOKEN=<the token> hone join ${address}`]),
      '  end it:                   hone cluster stop',
      '',
    ].join('\n'),
  );
}

async function stop(config: Config): Promise<void> {
  const head = await readHead(config);
  if (head === null) {
    process.stdout.write('hone: no cluster of this machine is running.\n');
    return;
  }
  // Ray ends its processes itself.
  process.kill(head.pid, 'SIGTERM');
  const deadline = performance.now() + endMs;
  while (await isAlive(head)) {
    if (performance.now() > deadline) signalGroup(head.pid, 'SIGKILL');
    await sleep(pollMs);
  }
  rmSync(headPath(config), { force: true });
  rmSync(head.temporaryDir, { recursive: true, force: true });
  process.stdout.write(`hone: the cluster at ${head.address} has ended.\n`);
}

/** The head that runs; `null` if none does. */
async function readHead(config: Config): Promise<Head | null> {
  try {
    const head = JSON.parse(readFileSync(headPath(config), 'utf8')) as Head;
    return (await isAlive(head)) ? head : null;
  } catch {
    return null;
  }
}
