import { rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Services } from '../domain/services.ts';
import { isLocalHost } from '../http/access/peers.ts';
import type { Logger } from '../logger.ts';

/** This machine's name for others: the host that was asked for, or its first address in a network. */
function nameForOthers(host: string): string {
  if (host !== '0.0.0.0' && host !== '::') return host.includes(':') ? `[${host}]` : host;
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const outer = addresses.find(({ internal, family }) => !internal && family === 'IPv4');
  return outer?.address ?? 'localhost';
}

/**
 * Says who may use the service. Where a key is needed and there is none, makes the first: shown on the terminal, or written
 * to a file that only this user can read, but never in the log.
 * @param url as this machine reaches the service.
 */
export function tellAccess(
  config: Config,
  { access, accessKeys }: Services,
  logger: Logger,
  url: string,
): void {
  const { host, dataDir } = config;
  const reachable = !isLocalHost(host);
  if (access.mode === 'open') {
    const who = reachable ? 'everyone who reaches this machine' : 'everyone on this machine';
    logger.warn(
      `Access is open: ${who} can use this service without a key. Leave out --access open to change that.`,
    );
    return;
  }
  if (!reachable && access.mode === 'auto') return;
  logger.info(
    access.mode === 'key'
      ? 'Every client needs an access key.'
      : `Listening on ${host}: clients on other machines need an access key, those on this machine do not. Start Hone with --host 127.0.0.1 to keep it local.`,
  );
  if (config.accessKey !== null || accessKeys.list().length > 0) return;
  const { key } = accessKeys.add({ name: 'first', scope: 'full' });
  if (process.stdout.isTTY) {
    const { protocol, port } = new URL(url);
    process.stdout.write(
      `\n  Open the page from elsewhere: ${protocol}//${nameForOthers(host)}:${port}/#key=${key}\n  This access key is shown only now. Make more with "hone key add".\n\n`,
    );
    return;
  }
  const path = join(dataDir, 'access-key');
  rmSync(path, { force: true });
  writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' });
  logger.info({ path }, `The first access key is in ${path}. Make more with "hone key add".`);
}
