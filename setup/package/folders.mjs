import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Where the installed package keeps itself and its data, as `src/config.ts` has it, which cannot be read before the packages
 * of the application are there. A test compares both.
 */
export function folders(env = process.env, platform = process.platform) {
  const local = env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local');
  const library = join(homedir(), 'Library');
  const { cache, data } =
    platform === 'darwin'
      ? { cache: join(library, 'Caches', 'hone'), data: join(library, 'Application Support', 'hone') }
      : platform === 'win32'
        ? { cache: join(local, 'hone', 'cache'), data: join(local, 'hone') }
        : {
            cache: join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'hone'),
            data: join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'hone'),
          };
  return {
    cache,
    app: join(cache, 'app'),
    data: env.SERVICE_DATA_DIR ? resolve(env.SERVICE_DATA_DIR) : data,
  };
}
