import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NativeFile } from './choose.ts';

/**
 * Possible paths of uWebSockets.js' native file for this Node, best first: the official release that setup downloads to
 * `build/uws/VERSION/`, then the registry's package, which supports up to Node 20.
 */
export function nativeFiles(installDir: string): NativeFile[] {
  const name = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
  const official = join(installDir, 'build', 'uws');
  const registry = join(installDir, 'node_modules', 'uWebSockets.js');
  return [
    ...foldersOf(official).map((version) => ({ path: join(official, version, name), version })),
    { path: join(registry, 'binaries', name), version: versionOf(registry) },
  ];
}

function foldersOf(folder: string): string[] {
  try {
    return readdirSync(folder).sort().reverse();
  } catch {
    return [];
  }
}

function versionOf(folder: string): string {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
  } catch {
    return '';
  }
}
