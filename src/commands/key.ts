import { asTable, toMinutes } from '../client/as-table.ts';
import { migrationsDir } from '../compose/records.ts';
import type { Config } from '../config.ts';
import { lockInstance } from '../db/instance.ts';
import { prepareDatabase } from '../db/restore.ts';
import { openStore } from '../db/store.ts';
import { type AccessKey, type AccessKeys, createAccessKeys } from '../domain/access/access-keys.ts';
import { AppError } from '../errors.ts';

const usage =
  'Use "hone key add NAME [--scope full|train|inference] [--budget minutes=60,runs=3] [--record]", "hone key list" or "hone key remove ID".';

/**
 * `hone key`: adds, lists and removes access keys in the database, beside a running service or without one.
 * @throws AppError `invalid` for another command, or as the domain does.
 */
export async function runKeyCommand(config: Config): Promise<void> {
  await prepareUnlessInUse(config);
  const store = openStore(config.databasePath, migrationsDir(config));
  try {
    run(createAccessKeys(store.access, null), config);
  } finally {
    store.close();
  }
}

/** A key that is added to a new database would hide that the old one is gone. */
async function prepareUnlessInUse(config: Config): Promise<void> {
  let lock: ReturnType<typeof lockInstance>;
  try {
    lock = lockInstance(config.dataDir, config.databasePath);
  } catch {
    // The service that holds it has prepared the database.
    return;
  }
  try {
    await prepareDatabase(config.databasePath, migrationsDir(config));
  } finally {
    lock.release();
  }
}

function run(
  keys: AccessKeys,
  { operands: [action, value, ...rest], keyScope: scope, keyBudget, keyRecording: recording }: Config,
): void {
  if (action === 'list' && value === undefined) {
    process.stdout.write(listed(keys.list()));
  } else if (action === 'add' && value !== undefined && rest.length === 0) {
    const { key, record } = keys.add({ name: value, scope, budget: keyBudget ?? undefined, recording });
    // The key alone is on the standard output, so that a script can take it from there.
    process.stderr.write(
      `hone: added the access key "${record.name}" (ID ${record.id}, scope ${scope}${recording ? ', its answers are kept' : ''}). It is shown only now:\n`,
    );
    process.stdout.write(`${key}\n`);
  } else if (action === 'remove' && value !== undefined && rest.length === 0) {
    keys.remove(value);
    process.stdout.write(`hone: revoked the access key ${value}.\n`);
  } else {
    throw new AppError('invalid', usage);
  }
}

function listed(keys: readonly AccessKey[]): string {
  if (keys.length === 0) return 'hone: there are no access keys. "hone key add NAME" makes one.\n';
  const rows = [
    ['ID', 'SCOPE', 'CREATED', 'LAST USED', 'NAME'],
    ...keys.map(({ id, name, scope, createdAt, lastUsedAt }) => [
      ...[id, scope, toMinutes(createdAt), lastUsedAt === null ? 'never' : toMinutes(lastUsedAt), name],
    ]),
  ];
  return asTable(rows);
}
