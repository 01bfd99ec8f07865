/** `npm run demo` as a whole: with the starter model made from nothing, and with a model of the hub. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startLoopbackHub } from '../hub/loopback.ts';
import { root, temporaryFolder } from '../service.ts';

const cache = temporaryFolder();

/** Runs the demo on a data directory of its own. @returns all that it said, and its last line. */
async function demo(args: string[], env: NodeJS.ProcessEnv = {}) {
  const data = temporaryFolder();
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'dist', 'demo.js'), ...args], {
    env: {
      ...process.env,
      HONE_INSTALL_DIR: root,
      OMP_NUM_THREADS: '1',
      SERVICE_DATA_DIR: data,
      XDG_CACHE_HOME: cache,
      ...env,
    },
  }).catch((error) => assert.unreachable(`exit code ${error.code}: ${error.stdout}${error.stderr}`) as never);
  return { output: stdout, last: stdout.trimEnd().split('\n').at(-1) as string, data };
}

const lastLine =
  /^demo: ok base=([0-2])\/10 tuned=(8|9|10)\/10 model_id=([0-9a-f-]{36}) gguf=(\S+) seconds=\d+$/;

test('the starter model is made, trained, exported and asked', async () => {
  const { output, last, data } = await demo([]);
  assert.match(last, lastLine);
  const gguf = lastLine.exec(last)?.[4] as string;
  assert.ok(existsSync(gguf) && gguf.startsWith(data));
  assert.match(output, /Uploaded 400 messages/);
});

test('a model of the hub takes its place', async () => {
  const hub = await startLoopbackHub();
  try {
    const [starter] = readdirSync(join(cache, 'hone')).filter((name) => name.startsWith('starter-'));
    const folder = join(temporaryFolder(), 'model');
    cpSync(join(cache, 'hone', starter as string), folder, { recursive: true });
    hub.addModel('acme/starter', folder);
    const hubCache = temporaryFolder();
    const { last } = await demo(['--model', 'acme/starter'], { HF_ENDPOINT: hub.url, HF_HOME: hubCache });
    assert.match(last, lastLine);
    assert.ok(existsSync(join(hubCache, 'hub', 'models--acme--starter')));
  } finally {
    await hub.close();
  }
});

test.run();
