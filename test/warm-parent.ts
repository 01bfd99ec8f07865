import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root, temporaryFolder } from './folders.ts';
import { installationWith } from './installation.ts';

const python = join(root, 'trainer', '.venv', 'bin', 'python');

/**
 * Starts the process that all services of this test run fork their warm trainers from (Linux only), because importing
 * torch and transformers takes ten seconds of CPU time. It ends with this process.
 * @returns the environment of the tests.
 */
export function startWarmParent(): NodeJS.ProcessEnv {
  if (process.platform !== 'linux') return {};
  const socket = join(temporaryFolder(), 'socket');
  const program = join(root, 'test', 'warm_parent.py');
  const parent = spawn(python, [program, socket, '-m', 'trainer', 'warm'], {
    cwd: root,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {
      ...process.env,
      PYTHONPATH: root,
      OMP_NUM_THREADS: '1',
      OMP_WAIT_POLICY: 'passive',
      TOKENIZERS_PARALLELISM: 'false',
    },
  });
  parent.unref();
  (parent.stdin as unknown as { unref(): void }).unref();
  return { HONE_TEST_WARM_PARENT: socket };
}

/**
 * The environment of a service whose warm trainer is a fork of the one that `startWarmParent` started; empty if there
 * is none, as when a test file runs alone.
 */
export function warmParentEnvironment(): NodeJS.ProcessEnv {
  const socket = process.env.HONE_TEST_WARM_PARENT;
  if (socket === undefined) return {};
  const client = join(root, 'test', 'warm_client.py');
  installation ??= installationWith(
    `[ "$*" = "-m trainer warm" ] && exec "${python}" -S "${client}" "${socket}"\nexec "${python}" "$@"`,
  );
  return { HONE_INSTALL_DIR: installation };
}

/** The same for all services of a test file. */
let installation: string | null = null;
