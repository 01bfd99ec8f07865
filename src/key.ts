import { join } from 'node:path';
import type { Config } from './config.ts';
import { openStore } from './db/store.ts';
import { type AccessKey, type AccessKeys, createAccessKeys } from './domain/access/access-keys.ts';
import { AppError } from './errors.ts';

const usage = 'Use "hone key add NAME [--scope full|inference]", "hone key list" or "hone key remove ID".';

/**
 * `hone key`: adds, lists and removes access keys in the database, beside a running service or without one.
 * @throws AppError `invalid` for another command, or as the domain does.
 */
export function runKeyCommand(config: Config): void {
  const store = openStore(config.databasePath, join(config.installDir, 'src', 'db', 'migrations'));
  try {
    run(createAccessKeys(store.access, null), config);
  } finally {
    store.close();
  }
}

function run(keys: AccessKeys, { keyCommand: [action, value, ...rest], keyScope: scope }: Config): void {
  if (action === 'list' && value === undefined) {
    process.stdout.write(asTable(keys.list()));
  } else if (action === 'add' && value !== undefined && rest.length === 0) {
    const { key, record } = keys.add({ name: value, scope });
    // The key alone is on the standard output, so that a script can take it from there.
    process.stderr.write(
      `hone: added the access key "${record.name}" (ID ${record.id}, scope ${scope}). It is shown only now:\n`,
    );
    process.stdout.write(`${key}\n`);
  } else if (action === 'remove' && value !== undefined && rest.length === 0) {
    keys.remove(value);
    process.stdout.write(`hone: removed the access key ${value}. It opens nothing any more.\n`);
  } else {
    throw new AppError('invalid', usage);
  }
}

function asTable(keys: readonly AccessKey[]): string {
  if (keys.length === 0) return 'hone: there are no access keys. "hone key add NAME" makes one.\n';
  const rows = [
    ['ID', 'SCOPE', 'CREATED', 'LAST USED', 'NAME'],
    ...keys.map(({ id, name, scope, createdAt, lastUsedAt }) => [
      ...[id, scope, toMinutes(createdAt), lastUsedAt === null ? 'never' : toMinutes(lastUsedAt), name],
    ]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return `${rows.map((row) => line(row).trimEnd()).join('\n')}\n`;
}

/** An ISO time to the minute, in UTC. */
const toMinutes = (time: string) => `${time.slice(0, 16).replace('T', ' ')} UTC`;
