import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { threadPlacement } from '../../src/native/thread-placement.ts';
import { preloading, shim, threadStarter } from './fake/build.ts';

const trials = 50;
const folder = mkdtempSync(join(tmpdir(), 'hone-threads-'));
const smt = '/sys/devices/system/cpu/smt/active';
const sharesCores = existsSync(smt) && readFileSync(smt, 'utf8').startsWith('1');
const canPlace = platform() === 'linux' && availableParallelism() > 1 && !sharesCores;

function started(name: string): { placed: number; elsewhere: number; free: number } {
  const libraries = preloading(threadPlacement() as string, shim('thread-watch', folder));
  const env = { ...process.env, LD_PRELOAD: libraries };
  return JSON.parse(execFileSync(threadStarter(folder, name), [String(trials)], { env, encoding: 'utf8' }));
}

test('the library is built on Linux', () => {
  assert.is(threadPlacement()?.endsWith('thread-placement.so') ?? false, platform() === 'linux');
});

if (canPlace) {
  test("ggml's threads begin on another processor than their caller, though it is busy, and may leave it", () => {
    const { placed, elsewhere, free } = started('libggml-threads');
    assert.is(placed, trials);
    // The scheduler may move a thread, or its caller, before they look.
    assert.ok(elsewhere > trials / 2, `${elsewhere} of ${trials}`);
    assert.is(free, trials);
  });

  test('the threads of others begin where the system starts them', () => {
    const { placed, free } = started('other-threads');
    assert.is(placed, 0);
    assert.is(free, trials);
  });
}

test.after(() => rmSync(folder, { recursive: true }));
test.run();
