import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type HardwareSample, unpackBatch } from '../../src/hardware/sample.ts';
import { startSampler } from '../../src/hardware/sampler.ts';
import { loadAddon, type NativeHostSources } from '../../src/native/addon.ts';

const folder = mkdtempSync(join(tmpdir(), 'hone-sampler-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

test('frames of this machine come in order, until stop', async () => {
  const frames: HardwareSample[] = [];
  const sampler = startSampler({ hz: 50, onBatch: (batch) => frames.push(...batch) });
  assert.is(sampler.reason, null);
  while (frames.length < 10) await sleep(5);
  sampler.stop();
  sampler.stop();
  const stoppedAt = frames.length;
  await sleep(80);
  assert.is(frames.length, stoppedAt);
  assert.ok(frames.every((frame, i) => frame.timeMs >= (frames[i - 1]?.timeMs ?? 0)));
  for (const frame of frames) {
    assert.ok(frame.ramTotalBytes === null || frame.ramTotalBytes > (frame.ramUsedBytes ?? 0));
    assert.ok(frame.cpuPercent === null || (frame.cpuPercent >= 0 && frame.cpuPercent <= 100));
  }
});

test('a rate out of bounds is refused', () => {
  for (const hz of [0, -1, 1000, Number.NaN]) {
    assert.throws(
      () => startSampler({ hz, onBatch: () => {} }),
      (error: unknown) => error instanceof RangeError,
    );
  }
});

test('batches hold several frames', async () => {
  const batches: (readonly HardwareSample[])[] = [];
  const sampler = startSampler({ hz: 100, batchMs: 100, onBatch: (frames) => batches.push(frames) });
  while (batches.length < 2) await sleep(5);
  assert.ok((batches[1]?.length ?? 0) > 1);
  sampler.stop();
});

/** Samples files of ours as fast as it can until `until` holds of the latest frame. */
async function sampleUntil(host: NativeHostSources, until: (frame: HardwareSample) => boolean) {
  const state = loadAddon();
  if (state.addon === null) throw new Error(state.reason);
  let latest: HardwareSample | undefined;
  const native = state.addon.startSampler({
    intervalMs: 5,
    batchMs: 0,
    gpus: false,
    host,
    onBatch: (batch) => {
      latest = unpackBatch(batch).samples.at(-1);
    },
  });
  while (latest === undefined || !until(latest)) await sleep(2);
  native.stop();
  return latest;
}

if (process.platform === 'linux') {
  test('a container is measured against its own limits', async () => {
    const file = (name: string, content: string) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const host = {
      meminfo: file('meminfo', 'MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: 6000000 kB\n'),
      memoryLimitBytes: 1_000_000_000,
      cgroupMemory: file('memory.current', '700000000\n'),
      cgroupMemoryStat: file('memory.stat', 'anon 1\ninactive_file 200000000\n'),
      procStat: file('stat', 'cpu 1 1 1 1 1 1 1 1\ncpu0 0 0 0 100 0 0 0 0\n'),
    };
    const limited = await sampleUntil(host, () => true);
    assert.is(limited.ramTotalBytes, 1_000_000_000);
    assert.is(limited.ramUsedBytes, 500_000_000, 'cached pages do not count');
    assert.is(limited.cpuPercent, null, 'nothing has passed between the readings');
    const whole = await sampleUntil({ meminfo: host.meminfo }, () => true);
    assert.is(whole.ramUsedBytes, 2_000_000 * 1024);
    assert.is(whole.cpuPercent, null);
    const nothing = await sampleUntil({}, () => true);
    assert.is(nothing.ramUsedBytes, null);
    assert.is(nothing.packageWatts, null);
  });

  test('processor and power figures are rates between two readings', async () => {
    const stat = join(folder, 'moving-stat');
    const energy = join(folder, 'energy_uj');
    let ticks = 0;
    const move = setInterval(() => {
      ticks += 100;
      // Of the two processors only the second is ours: 25 of its 100 ticks are busy.
      writeFileSync(
        stat,
        `cpu  0 0 0 0\ncpu0 ${ticks} 0 0 0 0 0 0 0\ncpu1 ${ticks / 4} 0 0 ${(ticks * 3) / 4} 0 0 0 0\n`,
      );
      writeFileSync(energy, String((ticks * 1000) % 2_000_000)); // wraps
    }, 2);
    writeFileSync(stat, '');
    writeFileSync(energy, '0');
    const frame = await sampleUntil(
      { procStat: stat, cpus: [1], energy: [energy], energyRangeMicrojoules: [2_000_000] },
      (latest) => latest.cpuPercent === 25 && latest.packageWatts !== null && latest.packageWatts > 0,
    );
    clearInterval(move);
    assert.is(frame.cpuPercent, 25);
  });
}

test.run();
