import { makeBackup } from '../db/backup.ts';
import { asAppError } from '../errors.ts';

/*
 * Backs up the database while the service uses it:  node dist/backup.js DATABASE
 * Failure: exit code 1, the reason on standard error, no file.
 */
makeBackup(process.argv[2] as string, null).catch((error) => {
  process.stderr.write(`${asAppError(error).message}\n`);
  process.exitCode = 1;
});
