import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../folders.ts';

const home = join(root, 'build', 'mutants');
const own = join(root, 'test', 'mutants', 'tools');

/** The copy of the repository in which faults are planted. */
export const tree = join(home, 'tree');
/** The packages that make the faults, of Node and of Python. */
export const nodeTools = join(home, 'node', 'node_modules');
export const pythonTools = join(home, 'python');
export const python = join(
  root,
  ...['trainer', '.venv', process.platform === 'win32' ? 'Scripts' : 'bin', 'python'],
);

/** Installs what a lock file lists into a folder, unless that was done. */
async function installOnce(lock: string, folder: string, run: () => unknown): Promise<void> {
  const installed = join(folder, 'installed');
  if (existsSync(installed) && readFileSync(lock).equals(readFileSync(installed))) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await run();
  copyFileSync(lock, installed);
}

async function install(): Promise<void> {
  const npmFolder = dirname(nodeTools);
  await installOnce(join(own, 'package-lock.json'), npmFolder, async () => {
    for (const name of ['package.json', 'package-lock.json'])
      copyFileSync(join(own, name), join(npmFolder, name));
    const { npmProgram } = await import(pathToFileURL(join(root, 'setup', 'npm-program.mjs')).href);
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
    execFileSync(process.execPath, [npmProgram(), ...args], { cwd: npmFolder });
  });
  const requirements = join(own, 'requirements.txt');
  await installOnce(requirements, pythonTools, () => {
    const args = ['--no-deps', '--no-input', '--disable-pip-version-check', '--target', pythonTools];
    execFileSync(python, ['-m', 'pip', 'install', '-q', ...args, '-r', requirements]);
  });
}

/** Copies what git tracks or does not ignore; what is installed or built is linked. */
function copy(): void {
  rmSync(tree, { recursive: true, force: true });
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  for (const file of files.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    copyFileSync(join(root, file), join(tree, file));
  }
  for (const name of ['node_modules', 'build', 'trainer/.venv']) {
    symlinkSync(join(root, name), join(tree, name), 'junction');
  }
}

/** Installs the tools and makes the copy. */
export async function prepare(): Promise<void> {
  await install();
  copy();
}
