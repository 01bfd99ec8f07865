/**
 * The image for processors: built by buildah on a small Debian 13 with Node 24, and used as a person would. It needs root on
 * Linux, buildah and debootstrap; `HONE_TEST_BASE` names another base image.
 */
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { serviceFile } from '../../src/contract/access.ts';
import { lastLine } from '../demo/demo-process.ts';
import { root, until } from '../service.ts';
import {
  build,
  buildah,
  canBuild,
  copyOfRepository,
  dataFolder,
  makeBase,
  open,
  removeContainers,
  runArgs,
} from './images.ts';

const image = 'localhost/hone-test';

test.after(removeContainers);

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
