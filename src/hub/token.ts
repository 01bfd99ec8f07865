import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The token of the hub, which can be replaced while the service runs. */
export interface HubToken {
  readonly value: string | null;
  /** Where it was set; the environment comes first. `null` if there is none. */
  readonly source: 'environment' | 'settings' | null;
  /** Keeps a token in a file that only this user can read; `null` deletes it. */
  keep(token: string | null): void;
}

/** The file of the token that was set in the settings. */
export const hubTokenPath = (dataDir: string): string => join(dataDir, 'hub-token');

/**
 * @param path the file of the token that was set in the settings.
 * @param environment the token of the environment.
 */
export function createHubToken(path: string, environment: string | null): HubToken {
  let kept = read(path);
  return {
    get value() {
      return environment ?? kept;
    },
    get source() {
      if (environment !== null) return 'environment';
      return kept === null ? null : 'settings';
    },
    keep(token) {
      if (token === null) rmSync(path, { force: true });
      else {
        const whole = `${path}.new`;
        writeFileSync(whole, token, { mode: 0o600 });
        // A file of an interrupted write keeps its own permissions.
        chmodSync(whole, 0o600);
        renameSync(whole, path);
      }
      kept = token;
    },
  };
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
