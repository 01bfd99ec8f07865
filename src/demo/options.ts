import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** The demo's options and paths (absolute). */
export interface Options {
  /** A hub model in place of the starter. */
  readonly model: string | null;
  /** Whether to fine-tune a real model in place of the starter, on a task for it. */
  readonly real: boolean;
  /** The service's port; 0 lets the operating system choose. */
  readonly port: number;
  readonly installDir: string;
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly pythonPath: string;
}

/** The platform's per-user data and cache folders. */
function userDirs(env: NodeJS.ProcessEnv): { data: string; cache: string } {
  const home = homedir();
  if (process.platform === 'darwin') {
    return {
      data: join(home, 'Library', 'Application Support', 'hone'),
      cache: join(home, 'Library', 'Caches', 'hone'),
    };
  }
  if (process.platform === 'win32') {
    const local = env.LOCALAPPDATA ?? join(home, 'AppData', 'Local');
    return { data: join(local, 'hone'), cache: join(local, 'hone', 'cache') };
  }
  return {
    data: join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'hone'),
    cache: join(env.XDG_CACHE_HOME || join(home, '.cache'), 'hone'),
  };
}

/** @throws Error with a sentence for the terminal. */
export function readOptions(argv: readonly string[], env: NodeJS.ProcessEnv): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      model: { type: 'string' },
      port: { type: 'string', default: '0' },
      real: { type: 'boolean', default: false },
    },
  });
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    throw new Error(`--port must be an integer from 0 to 65535, not "${values.port}"`);
  }
  if (values.model !== undefined && !/^\w[\w.-]*\/\w[\w.-]*$/.test(values.model)) {
    throw new Error(`--model must be owner/name, not "${values.model}"`);
  }
  if (values.real && values.model !== undefined) {
    throw new Error('--real chooses the model; leave out --model or --real');
  }
  const installDir = resolve(env.HONE_INSTALL_DIR ?? dirname(dirname(fileURLToPath(import.meta.url))));
  const { data, cache } = userDirs(env);
  const python = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python'];
  return {
    model: values.model ?? null,
    real: values.real,
    port,
    installDir,
    dataDir: resolve(env.SERVICE_DATA_DIR || data),
    cacheDir: cache,
    pythonPath: join(installDir, 'trainer', '.venv', ...python),
  };
}
