import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { AppError } from '../errors.ts';

/** The paths of the engine's shared libraries, and the llama.cpp release that they were built from. */
export interface EngineLibrary {
  readonly llama: string;
  readonly ggmlBase: string;
  readonly release: string;
}

const platformNames: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'linux',
  darwin: 'mac',
  win32: 'win',
};

// For example libllama.v0.5.0.so, libllama.cuda.v0.5.0.so, libllama.dylib, llama.dll; not libllama-common.so.
const llamaName = /^(lib)?llama(\.[\w.]+)?\.(so|dylib|dll)$/;
const ggmlBaseName = /^(lib)?ggml-base(\.[\w.]+)?\.(so|dylib|dll)$/;

/**
 * Finds the shared libraries that node-llama-cpp includes for this platform. The CPU-only build comes first, because
 * quantizing uses no GPU and the other builds contain the same code.
 *
 * @throws AppError `unavailable` when no build for this platform is installed
 */
export function findEngineLibrary(): EngineLibrary {
  const platform = `${platformNames[process.platform] ?? process.platform}-${process.arch === 'arm' ? 'armv7l' : process.arch}`;
  const looked: string[] = [];
  for (const variant of ['', '-metal', '-vulkan', '-cuda']) {
    const name = `@node-llama-cpp/${platform}${variant}`;
    looked.push(name);
    const found = inPackage(name);
    if (found !== null) return found;
  }
  throw new AppError(
    'unavailable',
    `llama.cpp's library for this platform is missing: none of ${looked.join(', ')} is installed. Run \`node setup.mjs\`.`,
  );
}

function inPackage(name: string): EngineLibrary | null {
  let packageFolder: string;
  try {
    // Its main file is dist/index.js; package.json itself is not exported.
    packageFolder = dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    return null;
  }
  const bins = join(packageFolder, 'bins');
  if (!existsSync(bins)) return null;
  for (const folder of readdirSync(bins)) {
    const files = readdirSync(join(bins, folder));
    const llama = files.find((file) => llamaName.test(file));
    const ggmlBase = files.find((file) => ggmlBaseName.test(file));
    if (llama === undefined || ggmlBase === undefined) continue;
    return {
      llama: join(bins, folder, llama),
      ggmlBase: join(bins, folder, ggmlBase),
      release: releaseIn(join(bins, folder, '_nlcBuildMetadata.json')),
    };
  }
  return null;
}

function releaseIn(metadataFile: string): string {
  try {
    const metadata = JSON.parse(readFileSync(metadataFile, 'utf8')) as {
      buildOptions?: { llamaCpp?: { release?: unknown } };
    };
    return String(metadata.buildOptions?.llamaCpp?.release ?? 'unknown');
  } catch {
    return 'unknown';
  }
}
