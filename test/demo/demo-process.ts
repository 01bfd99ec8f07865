import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { root, temporaryFolder } from '../service.ts';

/** Where the demo keeps the starter model that it has made. */
export const cache = temporaryFolder();

/** Runs the demo on a data directory of its own. @returns all that it said, and its last line. */
export async function demo(args: string[], env: NodeJS.ProcessEnv = {}) {
  const data = temporaryFolder();
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'dist', 'demo.js'), ...args], {
    env: {
      ...process.env,
      HONE_INSTALL_DIR: root,
      OMP_NUM_THREADS: '1',
      SERVICE_DATA_DIR: data,
      XDG_CACHE_HOME: cache,
      ...env,
    },
  }).catch((error) => assert.unreachable(`exit code ${error.code}: ${error.stdout}${error.stderr}`) as never);
  return { output: stdout, last: stdout.trimEnd().split('\n').at(-1) as string, data };
}

/** What the demo ends with. */
export const lastLine =
  /^demo: ok base=([0-2])\/10 tuned=(8|9|10)\/10 model_id=([0-9a-f-]{36}) gguf=(\S+) seconds=\d+$/;
