import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { allowedEnvironment, childVariables } from '../contract/child-environment.ts';

const run = promisify(execFile);

/**
 * Loads llama.cpp in a separate process and reports its version and compute device.
 *
 * @param scorePath the scoring program, `dist/score.js`
 * @throws the process's error, with its stderr, when llama.cpp cannot be loaded
 */
export async function checkEngine(scorePath: string): Promise<string> {
  const { stdout } = await run(process.execPath, [...process.execArgv, scorePath, '--check'], {
    env: allowedEnvironment(process.env, childVariables.engine),
    timeout: 60_000,
  });
  const { release, gpu, threads } = JSON.parse(stdout) as {
    release: string;
    gpu: string | false;
    threads: number;
  };
  return `llama.cpp ${release} loaded, ${gpu === false ? `${threads} threads, no GPU` : `on the GPU by ${gpu}`}`;
}
