import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/** Where the SHA-256 of the access keys that were removed are kept, one per line, in hexadecimal. */
const pathOf = (databasePath: string) => `${databasePath}-removed-keys`;

/** The hashes of the access keys that were removed from a database, also after its last backup. */
export function readRemovedKeys(databasePath: string): Buffer[] {
  let text: string;
  try {
    text = readFileSync(pathOf(databasePath), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text
    .split('\n')
    .filter((line) => /^[0-9a-f]{64}$/.test(line))
    .map((line) => Buffer.from(line, 'hex'));
}

/** Remembers beside the database that an access key was removed, so that a backup does not bring it back. */
export function rememberRemovedKey(databasePath: string, hash: Buffer): void {
  try {
    const file = openSync(pathOf(databasePath), 'a', 0o600);
    try {
      writeSync(file, `${hash.toString('hex')}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // A full disk must not keep anyone from removing a key.
  }
}
