import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A package as a registry serves it. */
export interface Packed {
  readonly name: string;
  readonly version: string;
  readonly archive: Buffer;
  readonly integrity: string;
}

/** Packs a package of small executable files, by their paths. */
export function pack(name: string, version: string, files: Readonly<Record<string, string>>): Packed {
  const folder = mkdtempSync(join(tmpdir(), 'hone-package-'));
  const all = { 'package.json': JSON.stringify({ name, version }), ...files };
  for (const [path, text] of Object.entries(all)) {
    const file = join(folder, 'package', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, 0o755);
  }
  execFileSync('tar', ['-czf', join(folder, 'archive.tgz'), '-C', folder, 'package']);
  const archive = readFileSync(join(folder, 'archive.tgz'));
  rmSync(folder, { recursive: true });
  return {
    ...{ name, version, archive },
    integrity: `sha512-${createHash('sha512').update(archive).digest('base64')}`,
  };
}

export interface Registry {
  readonly url: string;
  /** The archives that were asked for, in order. */
  readonly fetched: string[];
  close(): Promise<void>;
}

/**
 * A registry of a few packages on this machine, as npm speaks to one.
 * @param send answers the request for an archive; without it, with all of it.
 */
export async function startRegistry(
  packages: readonly Packed[],
  send: (response: ServerResponse, archive: Buffer) => void = (response, archive) => response.end(archive),
): Promise<Registry> {
  const fetched: string[] = [];
  const server = createServer((request, response) => {
    const [, name = '', archive] = (request.url ?? '').split('/');
    const found = packages.find((one) => one.name === decodeURIComponent(name));
    if (found === undefined) {
      response.writeHead(404).end('{}');
    } else if (archive === undefined) {
      const { version, integrity } = found;
      const dist = { tarball: `${url}${name}/${name}-${version}.tgz`, integrity };
      response.end(
        JSON.stringify({
          name,
          'dist-tags': { latest: version },
          versions: { [version]: { name, version, dist } },
        }),
      );
    } else {
      fetched.push(name);
      send(response, found.archive);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    fetched,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
