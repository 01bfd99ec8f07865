import { existsSync } from 'node:fs';
import { nativeFiles } from '../../src/http/engines/natives.ts';
import { root } from './places.ts';

/** Why uWebSockets.js does not run on this Node, or `null` if it does. */
export const missingUws = (): string | null =>
  nativeFiles(root).some(({ path }) => existsSync(path))
    ? null
    : `no native build of uWebSockets.js for Node ${process.versions.node}; the package supports Node 20`;

/** The environment variables that select each HTTP engine. */
export const onUws = { HONE_HTTP: 'uws' };
export const onNode = { HONE_HTTP: 'node' };
