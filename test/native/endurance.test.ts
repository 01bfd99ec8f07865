import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fakeDriver } from './fake/build.ts';

/*
 * A day of sampling at 5 Hz is 432,000 samples. Here 40,000 in a few seconds; a million in the long run.
 */
const samples = Number(process.env.HONE_SAMPLES ?? 40_000);
const root = resolve(import.meta.dirname, '..', '..');
const addon = resolve(root, process.env.HONE_NATIVE_BUILD ?? 'build/native', 'Release', 'hone.node');

if (process.platform === 'linux') {
  test(`memory stays flat over ${samples} samples of two GPUs`, async () => {
    const driver = fakeDriver('modern');
    try {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--expose-gc', join(import.meta.dirname, 'fake', 'endurance.mjs'), addon, String(samples)],
        { env: { ...process.env, LD_LIBRARY_PATH: driver, FAKE_GPU_COUNT: '2' } },
      );
      const { early, end, seen } = JSON.parse(stdout) as { early: number; end: number; seen: number };
      assert.ok(seen >= samples);
      assert.ok(end - early < 8 * 2 ** 20, `grew from ${early} to ${end} bytes`);
    } finally {
      rmSync(driver, { recursive: true, force: true });
    }
  });
}

test.run();
