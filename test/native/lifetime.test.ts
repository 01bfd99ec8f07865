import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findEngineLibrary } from '../../src/native/engine-library.ts';
import { fakeDriver, preloading, shim } from './fake/build.ts';
import { writeTinyGguf } from './tiny-gguf.ts';

const root = resolve(import.meta.dirname, '..', '..');
const addon = resolve(root, process.env.HONE_NATIVE_BUILD ?? 'build/native', 'Release', 'hone.node');
const folder = mkdtempSync(join(tmpdir(), 'hone-lifetime-'));
const model = join(folder, 'model.gguf');
writeTinyGguf(model);
const { llama, ggmlBase } = findEngineLibrary();
const engine = JSON.stringify({ llama, ggmlBase, input: model, output: join(folder, 'out.gguf') });
const driver = process.platform === 'linux' ? fakeDriver('modern') : '';
test.after(() => {
  for (const used of [folder, driver]) if (used) rmSync(used, { recursive: true, force: true });
});

/** Runs a program of `fake/ends.mjs`; it fails when the process does not end with 0 in the time. */
async function end(mode: string, env: Record<string, string> = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'fake', 'ends.mjs'), addon, mode],
    { env: { ...process.env, LD_LIBRARY_PATH: driver, ENGINE: engine, ...env }, timeout: 60_000 },
  );
  return stdout;
}

test('wrong arguments and unusable libraries are errors', async () => {
  assert.is(await end('arguments'), 'done\n');
});

if (process.platform === 'linux') {
  test('the addon links neither a driver nor the engine', async () => {
    assert.is(await end('loads'), 'done\n');
  });

  test('a system that gives no thread is an error, and none that stays', async () => {
    assert.is(await end('threads', { LD_PRELOAD: preloading(shim('no-threads', folder)) }), 'done\n');
  });
}

test('a process may end in any way while the sampler runs', async () => {
  for (const driverTakes of ['0', '20']) {
    const env = { FAKE_GPU_DELAY_MS: driverTakes };
    assert.is(await end('idle', env), 'done\n');
    assert.is(await end('exit', env), '');
  }
  assert.is(await end('restarts'), 'done\n');
  assert.is(await end('throws'), 'done\n');
});

test('a process ends although the driver hangs', async () => {
  assert.is(await end('idle', { FAKE_GPU_HANG: 'nvmlDeviceGetName' }), 'done\n');
  assert.is(await end('exit', { FAKE_GPU_HANG: 'nvmlDeviceGetPowerUsage' }), '');
});

test('a worker thread may be terminated while the addon works for it', async () => {
  assert.is(await end('workers'), 'done\n');
  assert.is(await end('workers', { FAKE_GPU_DELAY_MS: '5' }), 'done\n');
  assert.is(await end('quantizing'), 'done\n');
});

test.run();
