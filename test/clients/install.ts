import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../folders.ts';

/** Where clients are installed, each version once. */
const installed = join(root, 'build', 'clients');
export const trainerPython = join(root, 'trainer', '.venv', 'bin', 'python');

/** The folder of packages, which `install` fills unless it has done so before. */
function folderOf(name: string, packages: readonly string[], install: (folder: string) => void): string {
  const digest = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12);
  const folder = join(installed, `${name}-${digest}`);
  const done = join(folder, 'installed');
  if (existsSync(done)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  install(folder);
  writeFileSync(done, packages.join('\n'));
  return folder;
}

const run = (command: string, args: readonly string[], cwd: string) =>
  execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });

/**
 * The Python of an environment with packages.
 * @param withTrainers whether it has the trainer's packages, too, such as torch.
 */
export function pythonWith(name: string, packages: readonly string[], withTrainers = false): string {
  const python = (folder: string) => join(folder, 'bin', 'python');
  return python(
    folderOf(name, packages, (folder) => {
      run(trainerPython, ['-m', 'venv', folder], folder);
      const site = (of: string) =>
        execFileSync(of, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))']).toString().trim();
      if (withTrainers) writeFileSync(join(site(python(folder)), 'trainer.pth'), site(trainerPython));
      run(python(folder), ['-m', 'pip', 'install', '--quiet', ...packages], folder);
    }),
  );
}

/** A program for Node, copied to where it finds packages. */
export function nodeWith(packages: readonly string[], program: string): string {
  const folder = folderOf('node', packages, (to) => {
    writeFileSync(join(to, 'package.json'), '{"private": true}');
    run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', '--save-exact', ...packages], to);
  });
  const copy = join(folder, basename(program));
  copyFileSync(program, copy);
  return copy;
}
