import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import * as v from 'valibot';
import { AppError } from '../../errors.ts';

/** Keys of other services by what they are of, in a file that only this user can read. */
export interface KeptKeys {
  /** @throws AppError `conflict` if the file cannot be read. */
  read(): Record<string, string>;
  /** Replaces all. */
  write(keys: Readonly<Record<string, string>>): void;
}

const kept = v.record(v.string(), v.string());

/** @param of what each key is of, for messages. */
export function createKeptKeys(path: string, of: string): KeptKeys {
  return {
    read() {
      let text: string;
      try {
        text = readFileSync(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
        throw error;
      }
      try {
        return v.parse(kept, JSON.parse(text));
      } catch {
        // Without what is in it.
        throw new AppError('conflict', `${path} is not JSON with a key for each ${of}: mend or delete it.`);
      }
    },
    write(keys) {
      const whole = `${path}.new`;
      writeFileSync(whole, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
      // A file of an interrupted write keeps its own permissions.
      chmodSync(whole, 0o600);
      renameSync(whole, path);
    },
  };
}
