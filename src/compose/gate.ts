import { homedir, tmpdir } from 'node:os';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import type { Access } from '../domain/access/access.ts';
import { createPathRule } from '../domain/access/allowed-paths.ts';
import { createConceal } from '../http/access/conceal.ts';
import type { Gate } from '../http/access/gate.ts';

/** The HTTP server's gate, by the rules of the domain. */
export function composeGate(config: Config, access: Access): Gate {
  const { dataDir, cacheDir, installDir, allowedPaths, databasePath, environment } = config;
  const hubFolders = [environment.HF_HOME, environment.HF_HUB_CACHE].filter((folder) => folder !== undefined);
  const checkPath = createPathRule([dataDir, cacheDir, ...allowedPaths]);
  return {
    cookieName: access.cookieName,
    needsKey: access.needsKey,
    admit: access.admit,
    limit: access.limit,
    knows: access.knows,
    checkPath: (peer, holder, kind, text) => {
      // An agent on this machine may be led to name a path by what it reads.
      if (!peer.isLocal || holder?.scope === 'train') checkPath(kind, text);
    },
    conceal: createConceal([
      dataDir,
      dirname(databasePath),
      cacheDir,
      installDir,
      ...hubFolders,
      tmpdir(),
      homedir(),
    ]),
  };
}
