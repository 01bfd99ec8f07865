import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeSmallRepository, type SmallRepository } from './small-repository.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const VERSION = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).config[
  'uWebSockets.js'
] as string;
const FILE = `uws_${process.platform}_${process.arch}_137.node`;
/** What the step does on Node 24, whichever this is. */
const STEP = `
for (const [name, value] of [['node', '24.21.0'], ['modules', process.env.MODULES ?? '137']]) {
  Object.defineProperty(process.versions, name, { value });
}
const { uws } = await import('./setup/steps/uws.mjs');
try {
  console.log(await uws.run({ update() {} }));
} catch (error) {
  console.log(error.constructor.name, error.message);
}
`;

/** A native module with a function \`App\`, as the real one has. */
function compile(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'hone-native-'));
  writeFileSync(
    join(folder, 'module.c'),
    `#include <node_api.h>
static napi_value App(napi_env env, napi_callback_info info) { return NULL; }
NAPI_MODULE_INIT() {
  napi_value app;
  napi_create_function(env, "App", NAPI_AUTO_LENGTH, App, NULL, &app);
  napi_set_named_property(env, exports, "App", app);
  return exports;
}
`,
  );
  const out = join(folder, 'module.node');
  const apart = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  const headers = join(root, 'node_modules', 'node-api-headers', 'include');
  execFileSync('cc', ['-shared', '-fPIC', ...apart, '-I', headers, join(folder, 'module.c'), '-o', out]);
  const bytes = readFileSync(out);
  rmSync(folder, { recursive: true });
  return bytes;
}

interface Context {
  repository: SmallRepository;
  server: Server | undefined;
  /** Serves the release with an answer of its own; the environment that makes set-up ask there. */
  serve(answer: (path: string, response: ServerResponse) => void): Promise<NodeJS.ProcessEnv>;
}

const native = compile();
const test = suite<Context>('uWebSockets.js');
test.before.each((context) => {
  context.repository = makeSmallRepository();
  context.serve = async (answer) => {
    const server = createServer((request, response) => answer(request.url ?? '', response));
    context.server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { HONE_UWS_FROM: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v${VERSION}/` };
  };
});
test.after.each(({ repository, server }) => {
  server?.close();
  server?.closeAllConnections();
  repository.remove();
});

const step = async (repository: SmallRepository, env: NodeJS.ProcessEnv) => {
  repository.write('setup.mjs', STEP);
  const { stdout, stderr } = await repository.run([], env);
  assert.is(stderr, '');
  const left = readdirSync(join(repository.folder, 'build')).filter((name) => name.startsWith('uws-'));
  assert.equal(left, []);
  return { said: stdout, file: join(repository.folder, 'build', 'uws', VERSION, FILE) };
};

test('the file of this platform and Node is fetched, loaded and then put in its place', async (context) => {
  const asked: string[] = [];
  const env = await context.serve((path, response) => {
    asked.push(path);
    response.end(native);
  });
  const { said, file } = await step(context.repository, env);
  assert.is(said, 'undefined\n');
  assert.ok(readFileSync(file).equals(native));
  assert.equal(asked, [`/v${VERSION}/${FILE}`]);
  assert.is((await step(context.repository, env)).said, 'already installed\n');
  assert.is(asked.length, 1);
});

for (const [what, answer, why] of [
  [
    'is not there',
    (response: ServerResponse) => response.writeHead(404).end('no'),
    /127\.0\.0\.1:\d+ answered 404/,
  ],
  [
    'breaks off',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-length': native.length });
      response.write(native.subarray(0, 1_000), () => response.destroy());
    },
    /closed|terminated|reset|hang up/,
  ],
  ['is cut short', (response: ServerResponse) => response.end(native.subarray(0, 1_000)), /does not load: /],
  [
    'is a page',
    (response: ServerResponse) => response.end('<html>Sign in to this network</html>'),
    /does not load: /,
  ],
] as const) {
  test(`a file that ${what} is not kept, and why is said in one line`, async (context) => {
    const { said, file } = await step(
      context.repository,
      await context.serve((_path, response) => answer(response)),
    );
    assert.match(said, /^Unavailable not available \(.+\); Node's own HTTP server is used instead\n$/);
    assert.match(said, why);
    assert.not(existsSync(file));
  });
}

test('a server that stalls is given up on, after 20 s in all', async (context) => {
  const env = await context.serve((_path, response) => {
    response.writeHead(200, { 'content-length': native.length });
    response.write(native.subarray(0, 1_000));
  });
  const { said, file } = await step(context.repository, env);
  assert.match(said, 'Unavailable not available (not downloaded within 20 s);');
  assert.not(existsSync(file));
});

test('nothing is downloaded if there is no build, or if the packages include one', async ({ repository }) => {
  mkdirSync(join(repository.folder, 'build'));
  assert.match((await step(repository, { MODULES: '115' })).said, 'not needed: included in the packages');
  assert.match((await step(repository, { MODULES: '141' })).said, 'skipped: no build for Node');
});

test('set-up goes on without it, does not ask again at every start, and `doctor` does', async (context) => {
  const { repository } = context;
  let asked = 0;
  const env = await context.serve((_path, response) => {
    asked += 1;
    response.writeHead(404).end();
  });
  // The other steps have nothing to do with it.
  const setUp = readFileSync(join(repository.folder, 'setup', 'set-up.mjs'), 'utf8');
  repository.write('setup/set-up.mjs', setUp.replace(/^const service = .*$/m, 'const service = [[uws]];'));
  repository.write(
    'setup.mjs',
    `for (const [name, value] of [['node', '24.21.0'], ['modules', '137']]) {
  Object.defineProperty(process.versions, name, { value });
}
const { setUp } = await import('./setup/set-up.mjs');
console.log(await setUp(process.argv[2]));
`,
  );
  const first = await repository.run(['serve'], env);
  assert.is(first.stdout, 'true\n');
  assert.match(first.stderr, /uWebSockets\.js [\d.]+: not available \(127\.0\.0\.1:\d+ answered 404\)/);
  assert.not.match(first.stderr, 'failed');
  const second = await repository.run(['serve'], env);
  assert.is(second.stdout, 'true\n');
  assert.is(second.stderr, '');
  assert.is(asked, 1);
  await repository.run(['doctor'], env);
  assert.is(asked, 2);
});

test.run();
