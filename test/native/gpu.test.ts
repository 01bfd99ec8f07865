import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { HardwareFacts } from '../../src/hardware/facts.ts';
import type { HardwareFrame } from '../../src/hardware/frames.ts';
import { fakeDriver } from './fake/build.ts';
import type { Scenario } from './fake/probe.ts';

const gib = 1024 ** 3;
const probe = join(import.meta.dirname, 'fake', 'probe.ts');

/** Plays all scenarios in one process under the given driver; the answers in the same order. */
async function play<Answer>(folder: string, scenarios: Scenario[]): Promise<Answer[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', probe, JSON.stringify(scenarios)],
    { env: { ...process.env, LD_LIBRARY_PATH: folder, CUDA_VISIBLE_DEVICES: undefined }, maxBuffer: 2 ** 26 },
  );
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer);
}

const facts = (env: Record<string, string>, rest: Partial<Scenario> = {}): Scenario => ({
  env,
  do: 'facts',
  ...rest,
});
const frames = (env: Record<string, string>, rest: Partial<Scenario> = {}): Scenario => ({
  env,
  do: 'frames',
  ...rest,
});
interface Sampled {
  readonly frames: HardwareFrame[];
  readonly afterStop: number;
}

if (process.platform === 'linux') {
  const modern = fakeDriver('modern');
  const old = fakeDriver('old');
  const scratch = mkdtempSync(join(tmpdir(), 'hone-gpu-'));
  test.after(() => {
    for (const folder of [modern, old, scratch]) rmSync(folder, { recursive: true, force: true });
  });

  test('facts of one, eight, hidden, reordered, MIG, broken and lost GPUs', async () => {
    const [
      one,
      eight,
      hidden,
      some,
      reversed,
      mig,
      noCuda,
      mismatch,
      notLoaded,
      lost,
      silent,
      long,
      zero,
      half,
    ] = await play<HardwareFacts>(modern, [
      facts({ FAKE_GPU_COUNT: '1' }),
      facts({ FAKE_GPU_COUNT: '8' }),
      facts({ FAKE_GPU_COUNT: '2', CUDA_VISIBLE_DEVICES: '' }),
      facts({ FAKE_GPU_COUNT: '8', CUDA_VISIBLE_DEVICES: '5,2' }),
      facts({ FAKE_GPU_COUNT: '3', FAKE_CUDA_REVERSED: '1' }),
      facts({ FAKE_GPU_COUNT: '1', FAKE_GPU_MIG: '3' }),
      facts({ FAKE_GPU_COUNT: '1', FAKE_CUDA_INIT: '803' }),
      facts({ FAKE_GPU_INIT: '18', FAKE_CUDA_INIT: '803' }),
      facts({ FAKE_GPU_INIT: '4', FAKE_CUDA_INIT: '999' }),
      facts({ FAKE_GPU_LOST: '1', FAKE_CUDA_INIT: '999' }),
      facts({
        FAKE_GPU_FAIL:
          'nvmlDeviceGetMemoryInfo_v2=3,nvmlDeviceGetComputeRunningProcesses_v3=4,nvmlDeviceGetGraphicsRunningProcesses_v3=4,nvmlSystemGetDriverVersion=999',
      }),
      facts({ FAKE_GPU_LONG: '1' }),
      facts({ FAKE_GPU_COUNT: '0' }),
      facts({ FAKE_GPU_INIT: '4' }),
    ]);

    assert.is(one?.gpuName, 'NVIDIA Fake 0');
    assert.is(one?.gpuTotalBytes, 16 * gib);
    assert.is(one?.cudaVersion, '12.4');
    assert.is(one?.driverVersion, '550.54.15');
    assert.is(one?.gpuReason, null);
    assert.equal(one?.gpus, [
      {
        index: 0,
        nvmlIndex: 0,
        mig: false,
        name: 'NVIDIA Fake 0',
        uuid: 'GPU-00000000-0000-0000-0000-000000000000',
        totalBytes: 16 * gib,
        freeBytes: 13 * gib,
        usedBytes: 2 * gib, // what the driver reserves for itself is not counted as used
        computeCapability: '9.0',
        lost: null,
        processes: [
          { pid: 1000, usedBytes: 2 * gib },
          { pid: 1001, usedBytes: null },
        ],
      },
    ]);

    assert.is(eight?.gpus.length, 8);
    assert.is(eight?.gpuTotalBytes, 16 * gib);

    assert.is(hidden?.gpuName, 'No GPU');
    assert.is(hidden?.gpuTotalBytes, 0);
    assert.match(hidden?.gpuReason ?? '', 'CUDA_VISIBLE_DEVICES=""');

    assert.equal(
      some?.gpus.map((gpu) => [gpu.index, gpu.nvmlIndex]),
      [
        [0, 5],
        [1, 2],
      ],
    );
    assert.is(some?.gpuTotalBytes, 6 * 16 * gib, 'the GPU that training uses is the first visible one');
    assert.equal(
      reversed?.gpus.map((gpu) => gpu.nvmlIndex),
      [2, 1, 0],
    );

    assert.is(mig?.gpus.length, 1, 'CUDA shows one MIG instance');
    assert.is(mig?.gpus[0]?.mig, true);
    assert.is(mig?.gpuTotalBytes, 5 * gib, 'the memory of the instance, not of the whole GPU');
    assert.is(mig?.gpus[0]?.computeCapability, '9.0');

    assert.match(noCuda?.gpuName ?? '', /^NVIDIA Fake 0 \(unusable: CUDA cannot start/);
    assert.is(noCuda?.gpuTotalBytes, 0);
    assert.is(noCuda?.gpus[0]?.totalBytes, 16 * gib);

    assert.match(mismatch?.gpuName ?? '', /^GPU unusable: .*different versions/);
    assert.match(mismatch?.gpuReason ?? '', 'Driver/library version mismatch');
    assert.match(notLoaded?.gpuName ?? '', /^GPU unusable: no permission/);

    assert.match(lost?.gpuName ?? '', /unusable: GPU is lost/);
    assert.is(lost?.gpuTotalBytes, 0);

    assert.is(silent?.driverVersion, null);
    assert.is(silent?.gpus[0]?.processes, null);
    assert.is(silent?.gpus[0]?.usedBytes, 3 * gib, 'the older memory function answers');

    assert.equal(long?.gpus[0]?.processes, one?.gpus[0]?.processes, 'the long structure is told apart');
    assert.is(zero?.gpuName, 'No GPU');

    assert.is(half?.gpuName, 'NVIDIA Fake 0', 'CUDA alone knows the GPU');
    assert.is(half?.gpuTotalBytes, 16 * gib);
    assert.is(half?.gpus[0]?.freeBytes, null, 'unknown, not invented');
    assert.match(half?.gpuReason ?? '', 'NVML');
  });

  test('an old driver without the newer versions gives the same facts', async () => {
    const [one, eight] = await play<HardwareFacts>(old, [facts({}), facts({ FAKE_GPU_COUNT: '8' })]);
    assert.is(one?.gpuTotalBytes, 16 * gib);
    assert.is(one?.gpus[0]?.usedBytes, 3 * gib);
    assert.is(one?.cudaVersion, '12.4');
    assert.is(one?.gpus[0]?.processes?.length, 2);
    assert.is(eight?.gpus.length, 8);
    const [sampled] = await play<Sampled>(old, [frames({}, { count: 8 })]);
    const gpu = sampled?.frames.at(-1)?.gpus[0];
    assert.is(gpu?.pcieTxBytesPerSecond, 100 * 1024);
    assert.is(gpu?.pcieRxBytesPerSecond, 200 * 1024);
  });

  test('frames carry every figure, and null for what the driver does not give', async () => {
    const gone = join(scratch, 'gone');
    const [one, none, silent, falls] = await play<Sampled>(modern, [
      frames({ FAKE_GPU_COUNT: '2' }, { count: 4 }),
      frames({ FAKE_GPU_COUNT: '0' }),
      frames({
        FAKE_GPU_FAIL:
          'nvmlDeviceGetPowerUsage=3,nvmlDeviceGetUtilizationRates=3,nvmlDeviceGetFieldValues=3,nvmlDeviceGetPcieThroughput=3,nvmlDeviceGetCurrentClocksEventReasons=3,nvmlDeviceGetTemperature=999',
      }),
      frames({ FAKE_GPU_LOST_FILE: gone }, { count: 6, thenWrite: gone }),
    ]);
    const last = one?.frames.at(-1);
    assert.is(last?.gpuState, 'read');
    assert.is(last?.gpus.length, 2);
    assert.ok((last?.cpuPercent ?? 0) >= 0);
    assert.ok((last?.ramUsedBytes ?? 0) > 0 && (last?.ramTotalBytes ?? 0) > (last?.ramUsedBytes ?? 0));
    const gpu = last?.gpus[1];
    assert.is(gpu?.index, 1);
    assert.is(gpu?.utilizationPercent, 87);
    assert.is(gpu?.memoryUtilizationPercent, 41);
    assert.is(gpu?.usedBytes, 2 * gib);
    assert.is(gpu?.totalBytes, 32 * gib);
    assert.is(gpu?.temperatureCelsius, 63);
    assert.is(gpu?.powerWatts, 250.5);
    assert.ok((gpu?.energyJoules ?? 0) > 1000);
    assert.is(gpu?.smClockMHz, 1980);
    assert.is(gpu?.memoryClockMHz, 2619);
    assert.equal(gpu?.throttleReasons, ['power_cap', 'thermal_software']);
    assert.ok((gpu?.pcieTxBytesPerSecond ?? 0) > 0 && (gpu?.pcieRxBytesPerSecond ?? 0) > 0);
    assert.equal(gpu?.processes, [
      { pid: 1000, usedBytes: 2 * gib },
      { pid: 1001, usedBytes: null },
    ]);
    assert.is(one?.frames[0]?.gpus[0]?.pcieTxBytesPerSecond, null, 'a rate needs two readings');
    assert.is(one?.afterStop, 0, 'nothing comes after stop');

    assert.is(none?.frames[0]?.gpuState, 'none');
    assert.equal(none?.frames[0]?.gpus, []);

    const mute = silent?.frames.at(-1)?.gpus[0];
    for (const figure of [
      mute?.powerWatts,
      mute?.utilizationPercent,
      mute?.pcieTxBytesPerSecond,
      mute?.throttleReasons,
      mute?.temperatureCelsius,
    ]) {
      assert.is(figure, null);
    }
    assert.is(mute?.usedBytes, 2 * gib);

    assert.is(falls?.frames[0]?.gpus[0]?.lost, false);
    assert.is(falls?.frames.at(-1)?.gpus[0]?.lost, true);
    assert.is(falls?.frames.at(-1)?.gpus[0]?.usedBytes, null);
  });

  test('a driver that hangs costs its own figures and nothing else', async () => {
    // Its threads stay in the driver for good, so that these are the last of their process.
    const [sampled] = await play<Sampled>(modern, [
      frames({ FAKE_GPU_HANG: 'nvmlDeviceGetPowerUsage' }, { count: 5 }),
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

  test('a library that is there but unloadable, and CUDA without its library', async () => {
    const unloadable = fakeDriver('unloadable');
    const noCuda = fakeDriver('no-cuda');
    const [broken] = await play<HardwareFacts>(unloadable, [facts({})]);
    assert.is(broken?.gpuName, "GPU unusable: the NVIDIA driver's library cannot be loaded");
    assert.is(broken?.gpuTotalBytes, 0);
    const [half] = await play<HardwareFacts>(noCuda, [facts({})]);
    assert.is(half?.gpuName, 'NVIDIA Fake 0 (unusable: the CUDA driver library is missing)');
    for (const folder of [unloadable, noCuda]) rmSync(folder, { recursive: true, force: true });
  });
}

test.run();
