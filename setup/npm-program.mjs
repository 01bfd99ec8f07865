import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { onPath } from './prerequisites.mjs';

/**
 * The path of npm: the one that setup downloaded with this Node, the one that started this process, the one next to Node,
 * or the one on the search path, which may work only with a distribution's own Node.
 */
export function npmProgram() {
  const bin = dirname(realpathSync(process.execPath));
  const candidates = [
    join(bin, '..', '..', 'npm', 'bin', 'npm-cli.js'),
    process.env.npm_execpath,
    join(bin, '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    join(bin, 'node_modules', 'npm', 'bin', 'npm-cli.js'),
  ];
  const found = onPath('npm');
  if (found !== null) candidates.push(realpathSync(found));
  const program = candidates.find((file) => file && basename(file) === 'npm-cli.js' && existsSync(file));
  if (program === undefined) {
    throw new Error(
      'npm is missing. It comes with Node or as a separate package (Debian, Ubuntu: sudo apt-get install -y npm).',
    );
  }
  return program;
}
