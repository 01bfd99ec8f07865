/** Drivers that hang, are slow or cannot be used. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { HardwareFacts } from '../../src/hardware/facts.ts';
import { fakeDriver, preloading, shim } from './fake/build.ts';
import { facts, frames, play, type Sampled } from './fake/play.ts';

if (process.platform === 'linux') {
  const modern = fakeDriver('modern');
  const scratch = mkdtempSync(join(tmpdir(), 'hone-gpu-'));
  test.after(() => {
    for (const folder of [modern, scratch]) rmSync(folder, { recursive: true, force: true });
  });

  test('a driver that hangs costs its own figures and nothing else', async () => {
    // Its threads stay in the driver for good, so that these are the last of their process.
    const [sampled] = await play<Sampled>(modern, [
      frames({ FAKE_GPU_HANG: 'nvmlDeviceGetPowerUsage' }, { count: 5, late: true }),
    ]);
    assert.is(sampled?.frames.length && sampled.frames.at(-1)?.gpuState, 'late');
    assert.ok((sampled?.frames.at(-1)?.gpuLateMs ?? 0) > 0);
    assert.type(sampled?.frames.at(-1)?.ramUsedBytes, 'number');
    const [first, second] = await play<HardwareFacts>(modern, [
      facts({ FAKE_GPU_HANG: 'nvmlDeviceGetCount_v2' }, { gpuTimeoutMs: 300 }),
      facts({ FAKE_GPU_HANG: 'nvmlDeviceGetCount_v2' }, { gpuTimeoutMs: 300 }),
    ]);
    for (const answer of [first, second]) {
      assert.is(answer?.gpuName, 'GPU unusable: the NVIDIA driver does not answer');
      assert.ok((answer?.ramTotalBytes ?? 0) > 0);
    }
  });

  test('a driver that is too slow for every question is heard all the same', async () => {
    const impatient = facts({ FAKE_GPU_DELAY_MS: '10' }, { gpuTimeoutMs: 20 });
    const answers = await play<HardwareFacts>(modern, Array(60).fill(impatient));
    const names = answers.map((answer) => answer.gpuName);
    assert.is(names[0], 'GPU unusable: the NVIDIA driver does not answer');
    const heard = names.indexOf('NVIDIA Fake 0');
    assert.ok(heard > 0);
    assert.ok(names.slice(heard).every((name) => name === 'NVIDIA Fake 0'));
  });

  test('facts are there when the system gives no thread to ask the driver on', async () => {
    const [before, none, after] = await play<HardwareFacts>(
      modern,
      [facts({}), facts({ FAKE_NO_THREADS: '1' }), facts({})],
      preloading(shim('no-threads', scratch)),
    );
    assert.is(before?.gpuName, 'NVIDIA Fake 0');
    assert.is(none?.gpuName, 'GPU unusable: the NVIDIA driver cannot be asked');
    assert.ok((none?.ramTotalBytes ?? 0) > 0);
    assert.is(after?.gpuName, 'NVIDIA Fake 0');
  });

  test('a library that is there but unloadable, and CUDA without its library', async () => {
    const unloadable = fakeDriver('unloadable');
    const noCuda = fakeDriver('no-cuda');
    const [broken] = await play<HardwareFacts>(unloadable, [facts({})]);
    // Where the bus can be asked and has no GPU, a broken library is a leftover of the image.
    assert.match(
      broken?.gpuName ?? '',
      /^(GPU unusable: the NVIDIA driver's library cannot be loaded|No GPU)$/,
    );
    assert.match(broken?.gpuReason ?? '', /libnvidia-ml|no NVIDIA GPU/);
    assert.is(broken?.gpuTotalBytes, 0);
    const [half] = await play<HardwareFacts>(noCuda, [facts({})]);
    assert.is(half?.gpuName, 'NVIDIA Fake 0 (unusable: the CUDA driver library is missing)');
    for (const folder of [unloadable, noCuda]) rmSync(folder, { recursive: true, force: true });
  });
}

test.run();
