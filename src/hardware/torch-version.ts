import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface TorchVersion {
  /** Such as `2.14.1+cpu`. */
  readonly version: string;
  /** The CUDA version that this PyTorch was built for, `null` for a build without CUDA. */
  readonly cuda: string | null;
}

/**
 * The installed version of PyTorch, read from the package's files, because importing torch takes seconds. `null` if there is
 * none.
 */
export async function readTorchVersion(environmentDir: string): Promise<TorchVersion | null> {
  for (const packages of await sitePackages(environmentDir)) {
    const names = await readdir(packages).catch(() => []);
    const info = names.find((name) => /^torch-[^-]+\.dist-info$/.test(name));
    if (info === undefined) continue;
    const metadata = await readFile(join(packages, info, 'METADATA'), 'utf8').catch(() => '');
    const version = /^Version:\s*(\S+)/m.exec(metadata)?.[1];
    if (version === undefined) continue;
    const built = await readFile(join(packages, 'torch', 'version.py'), 'utf8').catch(() => '');
    const cuda = /^cuda\b[^=]*=\s*'([^']+)'/m.exec(built)?.[1] ?? null;
    const full = /^__version__\s*=\s*'([^']+)'/m.exec(built)?.[1] ?? version;
    return { version: full, cuda };
  }
  return null;
}

async function sitePackages(environmentDir: string): Promise<string[]> {
  if (process.platform === 'win32') return [join(environmentDir, 'Lib', 'site-packages')];
  const lib = join(environmentDir, 'lib');
  const pythons = (await readdir(lib).catch(() => [])).filter((name) => name.startsWith('python'));
  return pythons.map((name) => join(lib, name, 'site-packages'));
}
