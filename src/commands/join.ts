import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, hostAndPort } from '../config.ts';
import { AppError } from '../errors.ts';
import { lookAtCluster, rayEnvironment, rayNode } from '../trainer/cluster.ts';
import { clusterFiles, writeSecret } from './cluster.ts';

/** How long the head may take to accept a connection. */
const connectMs = 5_000;
/** What Ray writes once its node belongs to the cluster. */
const joinedWords = 'Ray runtime started';
const retryMs = 5_000;

/**
 * `hone join HOST:PORT`: makes this machine a node of the cluster until it is ended.
 * @returns the exit code. @throws AppError `invalid` or `unavailable` with the reason.
 */
export async function joinCluster(config: Config): Promise<number> {
  const [head, ...rest] = config.operands;
  if (head === undefined || rest.length > 0) throw new AppError('invalid', 'Use "hone join HOST:PORT".');
  const address = hostAndPort('The address', head);
  const files = clusterFiles(config);
  if (config.clusterToken !== null) writeSecret(config, config.clusterToken);
  if (!existsSync(files.tokenPath)) {
    throw new AppError(
      'invalid',
      `This machine does not have the cluster's token. Set SERVICE_CLUSTER_TOKEN to what "hone cluster start" wrote to cluster/token in the data folder of the head.`,
    );
  }
  mkdirSync(files.nodeDir, { recursive: true, mode: 0o700 });
  const own = await addressTowards(address);
  const state = await lookAtCluster({ ...config, cluster: { address, tokenPath: files.tokenPath } });
  if (!state?.available) throw new AppError('unavailable', state?.reason ?? 'There is no cluster.');
  const leaving = new AbortController();
  process.on('SIGINT', () => leaving.abort());
  process.on('SIGTERM', () => leaving.abort());
  process.stdout.write(`hone: ${own} joins the cluster at ${address}. Ctrl+C leaves it.\n`);
  const code = await stayJoined(config, own, address, leaving.signal);
  process.stdout.write('hone: this machine has left the cluster.\n');
  return code;
}

/**
 * Runs a node, and another one whenever the cluster has lost it, until `leaving`. A machine that has belonged to the
 * cluster tries again however often Ray fails to start. @returns the exit code.
 */
async function stayJoined(
  config: Config,
  own: string,
  address: string,
  leaving: AbortSignal,
): Promise<number> {
  const files = clusterFiles(config);
  let hasJoined = false;
  const onJoined = () => {
    hasJoined = true;
  };
  for (;;) {
    const code = await runNode(config, own, address, leaving, onJoined);
    // Ray exits with 1 when it is asked to end.
    if (leaving.aborted) return 0;
    if (!hasJoined) return code ?? 1;
    process.stdout.write('hone: the connection to the cluster was lost; joining again …\n');
    for (let available = false; !available; ) {
      await sleep(retryMs, undefined, { signal: leaving }).catch(() => undefined);
      if (leaving.aborted) return 0;
      const state = await lookAtCluster({ ...config, cluster: { address, tokenPath: files.tokenPath } });
      available = state?.available ?? false;
    }
  }
}

/** Runs a node of Ray until it ends or `leaving`. @returns its exit code. */
function runNode(
  config: Config,
  own: string,
  address: string,
  leaving: AbortSignal,
  onJoined: () => void,
): Promise<number | null> {
  const [program, ...args] = rayNode(config, own, ['--address', address]) as [string, ...string[]];
  const child = spawn(program, args, {
    // It ends when this process is killed.
    env: {
      ...rayEnvironment(config, clusterFiles(config), false),
      HONE_NODE_PARENT: String(process.pid),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    // Ctrl+C in a terminal signals the whole group; Ray ends its processes itself when it is asked.
    detached: true,
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes(joinedWords)) onJoined();
  });
  const end = () => child.kill('SIGTERM');
  leaving.addEventListener('abort', end);
  return new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  }).finally(() => leaving.removeEventListener('abort', end));
}

/** The address of this machine on the way to `address`. */
function addressTowards(address: string): Promise<string> {
  const [host, port] = address.split(':') as [string, string];
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), timeout: connectMs });
    const fail = (why: string) => {
      socket.destroy();
      reject(new AppError('unavailable', `Nothing answers at ${address} (${why}). Is the cluster running?`));
    };
    socket.once('connect', () => {
      resolve(socket.localAddress as string);
      socket.destroy();
    });
    socket.once('timeout', () => fail('timeout'));
    socket.once('error', (error) => fail((error as NodeJS.ErrnoException).code ?? error.message));
  });
}
