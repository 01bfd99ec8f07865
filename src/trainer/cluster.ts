import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import { type TrainerCommand, trainerEnvironment } from './processes/supervisor.ts';

const run = promisify(execFile);

const node = v.object({
  address: v.string(),
  cpus: v.number(),
  gpus: v.number(),
  free_cpus: v.number(),
  free_gpus: v.number(),
});

/** The output of `python -m trainer cluster`. `reason` says why the cluster cannot be used. */
export const clusterState = v.object({
  address: v.string(),
  available: v.boolean(),
  reason: v.nullable(v.string()),
  nodes: v.array(node),
});
export type ClusterState = v.InferOutput<typeof clusterState>;

/**
 * Asks the head of the command's cluster for its nodes, without joining; `null` if there is no cluster.
 * @throws AppError `unavailable` when the trainer's Python environment is broken.
 */
export async function lookAtCluster(command: TrainerCommand): Promise<ClusterState | null> {
  if (!command.cluster) return null;
  try {
    const { stdout } = await run(command.pythonPath, ['-m', 'trainer', 'cluster'], {
      env: trainerEnvironment(command, null),
      timeout: 60_000,
    });
    return v.parse(clusterState, JSON.parse(stdout));
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split('\n').at(-1);
    throw new AppError(
      'unavailable',
      `The cluster could not be asked (${said || (error as Error).message}).`,
      {
        cause: error,
      },
    );
  }
}

/**
 * The environment of Ray's processes on this machine: as little as a trainer's, and a token that every connection needs.
 * @param alone whether the head listens on loopback only.
 */
export function rayEnvironment(
  command: TrainerCommand,
  files: { readonly tokenPath: string; readonly nodeDir: string },
  alone: boolean,
): NodeJS.ProcessEnv {
  return {
    ...trainerEnvironment({ ...command, cluster: null }, null),
    HF_HUB_OFFLINE: '1',
    HONE_NODE_FOLDER: files.nodeDir,
    RAY_AUTH_MODE: 'token',
    RAY_AUTH_TOKEN_PATH: files.tokenPath,
    RAY_USAGE_STATS_ENABLED: '0',
    // Without it Ray replaces a loopback address by another one of the machine.
    RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER: alone ? '0' : '1',
  };
}

/** What Ray shares objects in; files travel in pieces of 16 MiB. */
const objectStoreBytes = 256 * 2 ** 20;

/** The command line of a node of Ray, which runs until it is ended. */
export const rayNode = (command: TrainerCommand, own: string, more: readonly string[]): string[] => [
  command.pythonPath,
  ...['-m', 'trainer', 'node', '--disable-usage-stats'],
  ...['--node-ip-address', own, '--object-store-memory', String(objectStoreBytes)],
  // Any free ports, instead of 10,002 to 19,999, among which the head's own may be.
  ...['--min-worker-port', '0', '--max-worker-port', '0'],
  ...more,
];
