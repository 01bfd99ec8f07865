import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { headersFolder, nodeEnvironment } from '../node-environment.mjs';
import { npmProgram } from '../npm-program.mjs';
import { inRoot } from '../paths.mjs';
import { digest } from '../stamp.mjs';
import { runTool } from '../tool.mjs';

/** See src/db/sqlite.ts: the newer release comes with its binaries, the one for Node 20 is compiled. */
const onNode20 = Number(process.versions.node.split('.')[0]) < 22;
const SQLITE = onNode20 ? 'better-sqlite3-node20' : 'better-sqlite3';
const SQLITE_BINARY = `node_modules/${SQLITE}/${onNode20 ? 'build/Release/better_sqlite3.node' : 'package.json'}`;

const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;

/** The archives that npm fetches for this machine, as `name-version`. */
function archivesForHere() {
  const libc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
  const allows = (list, value) => list === undefined || list.includes(value);
  const wanted = Object.entries(packagesOf(inRoot('package-lock.json'))).filter(
    ([path, { os, cpu, libc: libraries }]) =>
      path !== '' &&
      !(onNode20 && path === 'node_modules/better-sqlite3') &&
      allows(os, process.platform) &&
      allows(cpu, process.arch) &&
      (process.platform !== 'linux' || allows(libraries, libc)),
  );
  return new Set(wanted.map(([path, { name, version }]) => `${basename(name ?? path)}-${version}`));
}

/** Whether `node_modules` matches the lock file, as after a manual `npm ci`. */
function isComplete() {
  const hidden = inRoot('node_modules', '.package-lock.json');
  if (!existsSync(hidden)) return false;
  const there = packagesOf(hidden);
  for (const [path, locked] of Object.entries(packagesOf(inRoot('package-lock.json')))) {
    if (path === '' || (locked.optional && there[path] === undefined)) continue;
    if (there[path]?.version !== locked.version || !existsSync(inRoot(path, 'package.json'))) return false;
  }
  return existsSync(inRoot('node_modules', SQLITE));
}

/** Whether the packages with native code load in this Node. */
async function loads() {
  const code = `const Database = require('${SQLITE}'); new Database(':memory:').close(); require('esbuild').version`;
  try {
    await runTool(process.execPath, ['-e', code], { cwd: inRoot() });
    return true;
  } catch {
    return false;
  }
}

/**
 * Downloads and unpacks all packages. Install scripts do not run: they would compile SQLite for another Node, or look for
 * engine builds that come as packages.
 */
async function install(progress) {
  const wanted = archivesForHere();
  const fetched = new Set();
  const args = ['ci', '--ignore-scripts', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  await runTool(process.execPath, [npmProgram(), ...args, '--loglevel=http'], {
    cwd: inRoot(),
    env: nodeEnvironment(),
    onLine(line) {
      const name = /([^/\s]+)\.tgz/.exec(line)?.[1];
      if (wanted.has(name)) fetched.add(name);
      progress.update(
        fetched.size < wanted.size ? `${fetched.size} of ${wanted.size} downloaded` : 'unpacking',
      );
    },
  });
  return `${wanted.size} packages`;
}

/** Downloads the release's binary, or compiles it. */
async function buildSqlite(progress) {
  progress.update('SQLite for Node 20');
  const headers = headersFolder();
  // Otherwise npm may be configured to compile for another Node.
  const where = headers === null ? '--no-nodedir' : `--nodedir=${headers}`;
  const args = ['rebuild', SQLITE, '--no-ignore-scripts', '--foreground-scripts', where];
  await runTool(process.execPath, [npmProgram(), ...args], { cwd: inRoot(), env: nodeEnvironment() });
}

/** The packages of package-lock.json. */
export const packages = {
  name: 'packages',
  title: 'Node packages',
  makes: ['node_modules/.package-lock.json', SQLITE_BINARY],
  needs: onNode20 ? ['compiler', 'make', 'python'] : [],
  from: () => digest(['package-lock.json'], [process.versions.modules, process.platform, process.arch]),
  async run(progress) {
    const complete = isComplete();
    if (complete && (await loads())) return 'already installed';
    if (complete && onNode20) {
      await buildSqlite(progress);
      if (await loads()) return 'SQLite built';
    }
    const note = await install(progress);
    if (onNode20) await buildSqlite(progress);
    if (!(await loads()))
      throw new Error(`${SQLITE} or esbuild was installed, but does not load in this Node.`);
    return note;
  },
};
