import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../folders.ts';
import { makeSmallRepository, type SmallRepository } from './small-repository.ts';

const test = suite<{ repository: SmallRepository }>('set-up');
test.before.each((context) => {
  context.repository = makeSmallRepository();
});
test.after.each(({ repository }) => repository.remove());

/** Fills a folder with links to the programs of this machine; those that are found first win. */
function linkPrograms(folder: string, wanted: (name: string) => boolean): void {
  for (const place of (process.env.PATH ?? '').split(delimiter).filter((path) => existsSync(path))) {
    for (const name of readdirSync(place).filter(wanted)) {
      if (!lstatSync(join(folder, name), { throwIfNoEntry: false }))
        symlinkSync(join(place, name), join(folder, name));
    }
  }
}

/** Waits for something that a process does; the limit only ends a test that would hang. */
async function until(happened: () => boolean): Promise<void> {
  for (let i = 0; i < 1_200 && !happened(); i++) await sleep(50);
  assert.ok(happened());
}

test('what is missing is named with the command that installs it, and nothing is made', async ({
  repository,
}) => {
  const { code, stderr } = await repository.run([], {
    PATH: join(repository.folder, 'empty'),
    HONE_PYTHON: '',
  });
  assert.is(code, 1);
  for (const what of ['Python 3.10 to 3.14', 'C++17 compiler', 'cmake', 'git']) {
    assert.match(stderr, what);
    const lines = stderr.split('\n');
    const at = lines.findIndex((line) => line.includes(what));
    assert.match(lines[at + 1] ?? '', /install|pacman/);
  }
  assert.not(existsSync(join(repository.folder, 'trainer', '.venv')));
  assert.not(existsSync(join(repository.folder, 'dist')));
});

test('of a tool that fails on a full disk, the message says so', async () => {
  const { runTool } = await import(join(root, 'setup', 'tool.mjs'));
  const failing = (text: string) =>
    runTool(process.execPath, ['-e', `console.error(${JSON.stringify(text)}); process.exit(3)`]).then(
      () => 'it ended',
      (error: Error) => error.message,
    );
  assert.match(
    await failing('ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device'),
    /ended with exit code 3: the disk is full\. Free some space/,
  );
  assert.not.match(await failing('something else'), 'disk');
});

test('the second run does no work, and a changed source only its own step', async ({ repository }) => {
  const first = await repository.run(['stop', 'now']);
  assert.match(first.stderr, '[1/2] Node packages: already installed');
  assert.match(first.stderr, '[2/2] Service and page: done');
  assert.is(first.stdout, 'ran stop now\n');
  assert.is(first.code, 7);

  const second = await repository.run(['stop']);
  assert.is(second.stderr, '');
  assert.is(second.stdout, 'ran stop\n');

  repository.write('src/main.ts', "console.log('changed');\n");
  const third = await repository.run(['stop']);
  assert.match(third.stderr, '[1/1] Service and page: done');
  assert.not.match(third.stderr, 'Node packages');
  assert.is(third.stdout, 'changed\n');
});

test('what was deleted is made again', async ({ repository }) => {
  await repository.run(['stop']);
  rmSync(join(repository.folder, 'dist'), { recursive: true });
  assert.is((await repository.run(['stop'])).stdout, 'ran stop\n');
});

test('a step that fails shows what its tool said and leaves no stamp', async ({ repository }) => {
  repository.write('src/main.ts', 'const broken = ;\n');
  const { code, stderr, stdout } = await repository.run(['stop']);
  assert.is(code, 1);
  assert.is(stdout, '');
  assert.match(stderr, 'Service and page: failed');
  assert.match(stderr, 'src/main.ts:1:15');
  assert.not(existsSync(join(repository.folder, 'build', 'stamps', 'bundles')));
});

test("npm's own last lines are shown when it fails", async ({ repository }) => {
  unlinkSync(join(repository.folder, 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(repository.folder, 'package.json'), 'utf8'));
  manifest.dependencies.pino = '0.0.1';
  repository.write('package.json', JSON.stringify(manifest));
  const { code, stderr } = await repository.run(['stop'], { npm_config_offline: 'true' });
  assert.is(code, 1);
  assert.match(stderr, /Node packages: failed\. .* ended with exit code/);
  assert.match(stderr, /^ {4}npm error/m);
});

test('a set-up waits for another, and takes over the lock of a dead one', async ({ repository }) => {
  const lock = join(repository.folder, 'build', 'set-up.lock');
  repository.write('build/set-up.lock', `${process.pid} \n`);
  const child = repository.start(['stop']);
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  await until(() => stderr.includes(`process ${process.pid}`));
  assert.not.match(stderr, 'Service and page');
  // The same number with another start time: the process that wrote it is gone.
  writeFileSync(lock, `${process.pid} 1\n`);
  if (process.platform !== 'linux') unlinkSync(lock);
  assert.is(await ended, 7);
  assert.not(existsSync(lock));
  assert.equal(
    readdirSync(join(repository.folder, 'build')).filter((name) => name.startsWith('set-up')),
    [],
  );
});

test('a set-up that was killed is repaired by the next one', async ({ repository }) => {
  const venv = join(repository.folder, 'trainer', '.venv');
  repository.write('python-step.mjs', PYTHON_STEP);
  const run = () => repository.start([]);
  // The step alone: the rest of the set-up has nothing to do with it.
  rmSync(join(repository.folder, 'setup.mjs'));
  repository.write('setup.mjs', "await import('./python-step.mjs');\n");
  const killed = run();
  await until(() => existsSync(join(venv, 'pyvenv.cfg')));
  killed.kill('SIGKILL');
  await new Promise((resolve) => killed.on('close', resolve));
  // What pip had begun when the machine went down.
  writeFileSync(join(venv, 'unfinished'), '');

  const again = await repository.run([]);
  assert.is(again.code, 0, again.stderr);
  assert.match(again.stdout, 'creating an environment');
  assert.not(existsSync(join(venv, 'unfinished')));

  const third = await repository.run([]);
  assert.is(third.code, 0, third.stderr);
  assert.not.match(third.stdout, 'creating an environment');
});

test("pip's own last lines are shown when it fails, and the environment counts as unfinished", async ({
  repository,
}) => {
  repository.write('trainer/requirements.txt', 'hone-no-such-package==1.0\n');
  repository.write('setup.mjs', "await import('./python-step.mjs');\n");
  repository.write('python-step.mjs', PYTHON_STEP);
  const { code, stderr } = await repository.run([], { PIP_NO_INDEX: '1' });
  assert.is(code, 1);
  assert.match(stderr, 'No matching distribution found for hone-no-such-package');
  assert.ok(existsSync(join(repository.folder, 'trainer', '.venv', 'unfinished')));
});

/** Runs the Python step and prints what it says. */
const PYTHON_STEP = `
import { python } from './setup/steps/python.mjs';
const progress = { update: console.log, say: console.log };
try {
  await python.run(progress);
} catch (error) {
  console.error([error.message, ...(error.tail ?? [])].join('\\n'));
  process.exitCode = 1;
}
`;

test("a machine without the addon's tools gets everything else, and the addon once they are installed", async ({
  repository,
}) => {
  const bin = join(repository.folder, 'bin');
  mkdirSync(bin);
  // On Node 20 the packages want a compiler, too; cmake is the addon's alone.
  const isCmake = (name: string) => /^cmake(\.exe)?$/i.test(name);
  linkPrograms(bin, (name) => !isCmake(name));
  const env = { PATH: bin };
  const first = await repository.run([], env);
  assert.is(first.code, 7, first.stderr);
  assert.match(first.stderr, 'Native addon: skipped (no live metrics');
  assert.match(first.stderr, /^ {2}cmake\n {6}.*install/m);
  assert.not.match(first.stderr, 'failed');

  const second = await repository.run([], env);
  assert.is(second.stderr.replace(/^Node 20 .*\n/, ''), '');

  linkPrograms(bin, isCmake);
  const third = await repository.run([], env);
  assert.match(third.stderr, '[1/1] Native addon: failed', 'there is no source of it in this repository');
  assert.is(third.code, 7);
});

test('tools compile for the Node that runs set-up and start that one, whatever else is configured', async ({
  repository,
}) => {
  const other = join(repository.folder, 'other');
  repository.write(
    'other/include/node/node_version.h',
    '#define NODE_MAJOR_VERSION 9\n#define NODE_MINOR_VERSION 8\n#define NODE_PATCH_VERSION 7\n',
  );
  repository.write('other/bin/node', '#!/bin/sh\necho other\n');
  chmodSync(join(other, 'bin', 'node'), 0o755);
  repository.write(
    'setup.mjs',
    `import { nodeEnvironment } from './setup/node-environment.mjs';
import { execFileSync } from 'node:child_process';
const env = nodeEnvironment();
console.log(env.npm_config_nodedir === process.env.npm_config_nodedir);
console.log(execFileSync('node', ['-p', 'process.execPath'], { env, encoding: 'utf8' }).trim());
`,
  );
  const env = { npm_config_nodedir: other, PATH: `${join(other, 'bin')}:${process.env.PATH}` };
  assert.is((await repository.run([], env)).stdout, `false\n${process.execPath}\n`);
  const [major, minor, patch] = process.versions.node.split('.');
  repository.write(
    'other/include/node/node_version.h',
    `#define NODE_MAJOR_VERSION ${major}\n#define NODE_MINOR_VERSION ${minor}\n#define NODE_PATCH_VERSION ${patch}\n`,
  );
  assert.match((await repository.run([], env)).stdout, process.execPath);
});

test('on Node 20 its end is said at the start of the service, and nothing on a newer one', async ({
  repository,
}) => {
  const words = 'Node 20 reached its end of life on 30 April 2026';
  repository.write('setup/set-up.mjs', 'export const setUp = async () => true;\n');
  repository.write('setup/verbs.mjs', 'export const runVerb = async () => 0;\n');
  for (const [version, verb, times] of [
    ['20.20.2', 'serve', 1],
    ['20.20.2', 'stop', 0],
    ['22.23.3', 'serve', 0],
  ] as const) {
    const as = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`;
    const { code, stderr } = await repository.run([verb], {}, ['--import', as]);
    assert.is(code, 0);
    assert.is(stderr.split(words).length - 1, times, `${version} ${verb}`);
  }
});

test('an unknown verb is refused with the verbs that there are', async ({ repository }) => {
  const { code, stderr } = await repository.run(['tune']);
  assert.is(code, 2);
  assert.match(stderr, 'unknown command "tune"');
  for (const verb of ['serve', 'stop', 'demo', 'check', 'test', 'bench', 'key', 'import', 'doctor'])
    assert.match(stderr, verb);
});

test('setup does the named steps and starts nothing; an image sets up nothing', async ({ repository }) => {
  const { code, stdout } = await repository.run(['setup', 'bundles']);
  assert.is(code, 0);
  assert.not.match(stdout, 'ran ');
  assert.ok(existsSync(join(repository.folder, 'dist', 'main.js')));
  assert.not.ok(existsSync(join(repository.folder, 'trainer', '.venv')), 'no other step');
  const unknown = await repository.run(['setup', 'tea']);
  assert.is(unknown.code, 2);
  assert.match(unknown.stderr, 'there is no step "tea". The steps are packages, converter');
  const inImage = await repository.run(['serve'], { HONE_IMAGE: '1' });
  assert.equal([inImage.code, inImage.stdout], [7, 'ran serve\n']);
});

test('help needs no set-up', async ({ repository }) => {
  const { code, stdout, stderr } = await repository.run(['serve', '--help']);
  assert.is(code, 0);
  assert.match(stdout, '--port');
  assert.is(stderr, '');
});

test.run();
