import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { inRoot } from '../paths.mjs';
import { onPath } from '../prerequisites.mjs';
import { digest } from '../stamp.mjs';
import { runTool } from '../tool.mjs';

/** npm's own program: the one that runs us, the one beside this Node, or the one on the search path. */
function npmProgram() {
  const bin = dirname(realpathSync(process.execPath));
  const candidates = [
    process.env.npm_execpath,
    join(bin, '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    join(bin, 'node_modules', 'npm', 'bin', 'npm-cli.js'),
  ];
  const found = onPath('npm');
  if (found !== null) candidates.push(realpathSync(found));
  const program = candidates.find((file) => file && basename(file) === 'npm-cli.js' && existsSync(file));
  if (program === undefined)
    throw new Error('npm is missing. It comes with Node: install Node 20, 22 or 24 again.');
  return program;
}

const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;

/** The archives that npm fetches for this machine, as `name-version`. */
function archivesForHere() {
  const libc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
  const allows = (list, value) => list === undefined || list.includes(value);
  const wanted = Object.entries(packagesOf(inRoot('package-lock.json'))).filter(
    ([path, { os, cpu, libc: libraries }]) =>
      path !== '' &&
      allows(os, process.platform) &&
      allows(cpu, process.arch) &&
      (process.platform !== 'linux' || allows(libraries, libc)),
  );
  return new Set(wanted.map(([path, { name, version }]) => `${basename(name ?? path)}-${version}`));
}

/** Whether `node_modules` already is what the lock says, as after an `npm ci` by hand. */
async function isInstalled() {
  const hidden = inRoot('node_modules', '.package-lock.json');
  if (!existsSync(hidden)) return false;
  const there = packagesOf(hidden);
  for (const [path, locked] of Object.entries(packagesOf(inRoot('package-lock.json')))) {
    if (path === '' || (locked.optional && there[path] === undefined)) continue;
    if (there[path]?.version !== locked.version || !existsSync(inRoot(path, 'package.json'))) return false;
  }
  return loads();
}

/** Whether the packages with native code load in this Node. */
async function loads() {
  const code =
    "const Database = require('better-sqlite3'); new Database(':memory:').close(); require('esbuild').version";
  try {
    await runTool(process.execPath, ['-e', code], { cwd: inRoot() });
    return true;
  } catch {
    return false;
  }
}

/** The packages of package-lock.json. */
export const packages = {
  name: 'packages',
  title: 'Node packages',
  makes: ['node_modules/.package-lock.json', 'node_modules/better-sqlite3/build/Release/better_sqlite3.node'],
  needs: ['compiler', 'make', 'python'],
  from: () => digest(['package-lock.json'], [process.versions.modules, process.platform, process.arch]),
  async run(progress) {
    if (await isInstalled()) return 'already there';
    const wanted = archivesForHere();
    const env = {
      ...process.env,
      // The engine's binaries come as packages; it must not build its own when it finds none.
      NODE_LLAMA_CPP_SKIP_DOWNLOAD: 'true',
    };
    // Where Node's headers lie beside it, what must be compiled needs no download of them.
    const prefix = dirname(dirname(realpathSync(process.execPath)));
    if (!env.npm_config_nodedir && existsSync(join(prefix, 'include', 'node', 'node.h'))) {
      env.npm_config_nodedir = prefix;
    }
    const fetched = new Set();
    const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=http'];
    await runTool(process.execPath, [npmProgram(), ...args], {
      cwd: inRoot(),
      env,
      onLine(line) {
        const name = /([^/\s]+)\.tgz/.exec(line)?.[1];
        if (wanted.has(name)) fetched.add(name);
        progress.update(
          fetched.size < wanted.size
            ? `${fetched.size} of ${wanted.size} fetched`
            : 'unpacking, and compiling what has no binary for here',
        );
      },
    });
    if (!(await loads()))
      throw new Error('better-sqlite3 or esbuild was installed, but does not load in this Node.');
    return `${wanted.size} packages`;
  },
};
