import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import * as v from 'valibot';
import { AppError } from '../../errors.ts';

/** Values by their names, in a JSON file that only this user can read. */
export interface PrivateFile<T> {
  /** @throws AppError `conflict` if the file cannot be read. */
  read(): Record<string, T>;
  /** Replaces all. */
  write(values: Readonly<Record<string, T>>): void;
}

/** @param holds what the file has, for messages. */
export function createPrivateFile<T>(
  path: string,
  value: v.GenericSchema<unknown, T>,
  holds: string,
): PrivateFile<T> {
  const values = v.record(v.string(), value);
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
        return v.parse(values, JSON.parse(text));
      } catch {
        // Without what is in it.
        throw new AppError('conflict', `${path} is not JSON with ${holds}: mend or delete it.`);
      }
    },
    write(given) {
      const whole = `${path}.new`;
      writeFileSync(whole, `${JSON.stringify(given, null, 2)}\n`, { mode: 0o600 });
      // A file of an interrupted write keeps its own permissions.
      chmodSync(whole, 0o600);
      renameSync(whole, path);
    },
  };
}
