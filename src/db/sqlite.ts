import { createRequire } from 'node:module';
import type Library from 'better-sqlite3';

/**
 * The package name of better-sqlite3 for a release of Node: 13 includes its binaries and needs Node-API 10, so Node 22.14 or
 * later (it crashes on older ones); 12 is compiled for Node 20 and aborts on Node 24.19 and later. Both use the same files.
 */
export const packageFor = (nodeMajor: number): string =>
  nodeMajor < 22 ? 'better-sqlite3-node20' : 'better-sqlite3';

/** better-sqlite3, in the release for the current Node. */
export const Database: typeof Library = createRequire(import.meta.url)(
  packageFor(Number(process.versions.node.split('.')[0])),
);
