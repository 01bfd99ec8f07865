import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Packed, pack, type Registry, startRegistry } from './registry.ts';
import { makeSmallRepository, type SmallRepository } from './small-repository.ts';

const NAME =
  process.platform === 'win32' ? `node-win-${process.arch}` : `node-${process.platform}-${process.arch}`;
const VERSION = process.versions.node;
/** What set-up takes for the Node that it was started with, as if a distribution's. */
const asNode = (version: string) => [
  '--import',
  `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`,
];
const OLD = asNode('18.20.4');

/** A Node of the registry: it is this very one. */
const goodNode = () =>
  pack(NAME, VERSION, {
    'bin/node': `#!/bin/sh\nexport HONE_RAN_BY="$0"\nexec "${process.execPath}" "$@"\n`,
  });
const npm = () => pack('npm', '1.0.0', { 'bin/npm-cli.js': '' });

interface Context {
  repository: SmallRepository;
  registry: Registry | undefined;
  /** Serves packages, and makes them what the repository's lock asks for. */
  serve(packages: readonly Packed[], send?: Parameters<typeof startRegistry>[1]): Promise<NodeJS.ProcessEnv>;
}

const test = suite<Context>('own Node');

test.before.each((context) => {
  const repository = makeSmallRepository();
  context.repository = repository;
  repository.write(
    'src/main.ts',
    'console.log(process.env.HONE_RAN_BY, process.env.npm_execpath, ...process.argv.slice(2));\nprocess.exitCode = 7;\n',
  );
  context.serve = async (packages, send) => {
    await context.registry?.close();
    context.registry = await startRegistry(packages, send);
    const dependencies = Object.fromEntries(packages.map(({ name, version }) => [name, version]));
    const optionalDependencies = { [NAME]: dependencies[NAME] };
    const manifest = { name: 'hone-node', version: '1.0.0', dependencies, optionalDependencies };
    const locked = packages.map(({ name, version, integrity }) => [
      `node_modules/${name}`,
      { version, integrity, optional: name === NAME },
    ]);
    repository.write('setup/node/package.json', JSON.stringify(manifest));
    repository.write(
      'setup/node/package-lock.json',
      JSON.stringify({
        ...manifest,
        lockfileVersion: 3,
        packages: { '': manifest, ...Object.fromEntries(locked) },
      }),
    );
    return { npm_config_registry: context.registry.url };
  };
});

test.after.each(async (context) => {
  await context.registry?.close();
  context.registry = undefined;
  context.repository.remove();
});

const builds = ({ folder }: SmallRepository) =>
  existsSync(join(folder, 'build'))
    ? readdirSync(join(folder, 'build')).filter(
        (name) => name.startsWith('node') || name.startsWith('set-up'),
      )
    : [];

test('a Node that is too old fetches one, which runs everything; the second time at once', async (context) => {
  const { repository } = context;
  const env = await context.serve([goodNode(), npm()]);
  const first = await repository.run(['stop', 'now'], env, OLD);
  assert.match(first.stderr, /This is Node 18\.20\.4; Hone runs on Node 20\.17, 22\.14, 24 or 26/);
  assert.match(first.stderr, new RegExp(`Node ${VERSION}, for Hone only, in this folder · \\d+ MB: done`));
  assert.is(first.code, 7, first.stderr);
  const own = join(repository.folder, 'build', 'node', VERSION, 'node_modules');
  const said = `${join(own, NAME, 'bin', 'node')} ${join(own, 'npm', 'bin', 'npm-cli.js')} stop`;
  assert.is(first.stdout, `${said} now\n`);
  assert.equal(builds(repository), ['node']);

  await context.registry?.close();
  const second = await repository.run(['stop'], env, OLD);
  assert.is(second.stderr, '');
  assert.is(second.stdout, `${said}\n`);
  assert.is(second.code, 7);
});

test('so does one between the supported ones, and one that is newer than all', async (context) => {
  const { repository } = context;
  const env = await context.serve([goodNode(), npm()]);
  for (const version of ['20.16.0', '22.13.1', '25.9.0', '27.0.0']) {
    const ran = await repository.run(['stop'], env, asNode(version));
    assert.is(ran.code, 7, ran.stderr);
    assert.match(ran.stdout, join('build', 'node'));
  }
  assert.is(context.registry?.fetched.length, 2);
  for (const version of ['20.17.0', '22.14.0', '24.0.0', '26.10.0']) {
    const program = `import { isSupported } from './setup/supported.mjs'; console.log(isSupported('${version}'));`;
    repository.write('setup.mjs', program);
    assert.is((await repository.run([])).stdout, 'true\n', version);
  }
});

test('signals reach what runs, and the one that ends it ends us', async (context) => {
  const { repository } = context;
  const env = await context.serve([goodNode(), npm()]);
  for (const [handler, expected] of [
    ["process.on('SIGTERM', () => process.exit(9));", 9],
    ['', 'SIGTERM'],
  ] as const) {
    repository.write('src/main.ts', `${handler}\nsetInterval(() => {}, 1000);\nconsole.log('up');\n`);
    const child = repository.start(['stop'], env, OLD);
    const ended = new Promise((resolve) => child.on('close', (code, signal) => resolve(code ?? signal)));
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    child.kill('SIGTERM');
    assert.is(await ended, expected);
  }
});

test('an unreachable registry: what was tried, and what to install by hand', async (context) => {
  const { repository } = context;
  const env = await context.serve([goodNode(), npm()]);
  await context.registry?.close();
  const { code, stdout, stderr } = await repository.run(['stop'], env, OLD);
  assert.is(code, 1);
  assert.is(stdout, '');
  assert.match(stderr, `packages ${NAME} ${VERSION} and npm from ${env.npm_config_registry}`);
  assert.match(stderr, /^ {4}npm error .*ECONNREFUSED/m);
  assert.match(stderr, 'Install Node 24 by hand, from https://nodejs.org/en/download');
  assert.equal(builds(repository), []);
});

test('what is not what the lock says is not run', async (context) => {
  const { repository } = context;
  const node = goodNode();
  const other = pack(NAME, VERSION, { 'bin/node': '#!/bin/sh\ntouch ran\n' });
  const env = await context.serve([node, npm()], (response, archive) =>
    response.end(archive === node.archive ? other.archive : archive),
  );
  const { code, stdout, stderr } = await repository.run(['stop'], env, OLD);
  assert.is(code, 1);
  assert.is(stdout, '');
  assert.match(stderr, `npm did not install ${NAME} completely`);
  assert.equal(builds(repository), []);
});

test('a Node that does not run here, or is another, is not used', async (context) => {
  const { repository } = context;
  const scripts = {
    '#!/bin/sh\necho no loader >&2; exit 127\n': 'no loader',
    '#!/bin/sh\necho v1.2.3\n': 'v1.2.3',
  };
  for (const [script, said] of Object.entries(scripts)) {
    const env = await context.serve([pack(NAME, VERSION, { 'bin/node': script }), npm()]);
    const { code, stdout, stderr } = await repository.run(['stop'], env, OLD);
    assert.is(code, 1);
    assert.is(stdout, '');
    assert.match(stderr, said);
    assert.equal(builds(repository), []);
  }
});

test('a fetch that was killed half-way leaves nothing that is run, and the next one does it', async (context) => {
  const { repository } = context;
  const node = goodNode();
  const half = await context.serve([node, npm()], (response, archive) => {
    response.write(archive.subarray(0, archive.length / 2));
  });
  const killed = repository.start(['stop'], half, OLD);
  for (let i = 0; i < 1_200 && !context.registry?.fetched.includes(NAME); i++) await sleep(50);
  killed.kill('SIGKILL');
  await new Promise((resolve) => killed.on('close', resolve));
  assert.not(existsSync(join(repository.folder, 'build', 'node')));

  const env = await context.serve([node, npm()]);
  const { code, stderr } = await repository.run(['stop'], env, OLD);
  assert.is(code, 7, stderr);
  assert.equal(builds(repository), ['node']);
});

test('of two at once, one fetches and the other waits for it', async (context) => {
  const { repository } = context;
  const env = await context.serve([goodNode(), npm()]);
  const both = await Promise.all([1, 2].map(() => repository.run(['stop'], env, OLD)));
  assert.equal(
    both.map(({ code }) => code),
    [7, 7],
    both.map(({ stderr }) => stderr).join('\n'),
  );
  assert.equal(context.registry?.fetched.sort(), [NAME, 'npm'].sort());
});

test("each platform's Node is locked by version and integrity", ({ repository }) => {
  const read = (name: string) =>
    JSON.parse(readFileSync(join(repository.folder, 'setup', 'node', name), 'utf8'));
  const { optionalDependencies } = read('package.json') as { optionalDependencies: Record<string, string> };
  const { packages } = read('package-lock.json') as { packages: Record<string, Record<string, string>> };
  assert.is(Object.keys(optionalDependencies).length, 5);
  for (const [name, version] of Object.entries(optionalDependencies)) {
    assert.is(packages[`node_modules/${name}`]?.version, version);
    assert.match(packages[`node_modules/${name}`]?.integrity ?? '', /^sha512-/);
    assert.match(version, /^2[24]\./);
  }
  assert.match(packages['node_modules/npm']?.integrity ?? '', /^sha512-/);
  assert.is(Object.values(packages).filter(({ resolved }) => resolved).length, 0, 'no registry is named');
});

test.run();
