/** What is read of GPUs, under simulated drivers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { HardwareFacts } from '../../src/hardware/facts.ts';
import { fakeDriver } from './fake/build.ts';
import { facts, frames, play, type Sampled } from './fake/play.ts';

const gib = 1024 ** 3;

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
          'nvmlDeviceGetMemoryInfo_v2=3,nvmlDeviceGetComputeRunningProcesses_v3=4,nvmlDeviceGetGraphicsRunningProcesses_v3=4,nvmlDeviceGetMPSComputeRunningProcesses_v3=4,nvmlSystemGetDriverVersion=999',
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
        integrated: false,
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

  test('CUDA_VISIBLE_DEVICES by UUID, whole or begun, and by the UUID of a MIG instance', async () => {
    const uuid = (index: number) => `GPU-00000000-0000-0000-0000-00000000000${index}`;
    const [whole, one, mig, wrong] = await play<HardwareFacts>(modern, [
      facts({ FAKE_GPU_COUNT: '8', CUDA_VISIBLE_DEVICES: `${uuid(6)},${uuid(1)}` }),
      facts({ FAKE_GPU_COUNT: '1', CUDA_VISIBLE_DEVICES: 'GPU-00000000' }),
      facts({
        FAKE_GPU_COUNT: '2',
        FAKE_GPU_MIG: '2',
        CUDA_VISIBLE_DEVICES: 'MIG-00000000-0000-0000-0001-000000000001',
      }),
      facts({ FAKE_GPU_COUNT: '2', CUDA_VISIBLE_DEVICES: 'GPU-ffffffff' }),
    ]);
    assert.equal(
      whole?.gpus.map((gpu) => [gpu.nvmlIndex, gpu.uuid]),
      [
        [6, uuid(6)],
        [1, uuid(1)],
      ],
    );
    assert.is(whole?.gpuTotalBytes, 7 * 16 * gib);
    assert.is(one?.gpuName, 'NVIDIA Fake 0');
    assert.equal(
      mig?.gpus.map((gpu) => [gpu.nvmlIndex, gpu.mig, gpu.uuid, gpu.totalBytes]),
      [[1, true, 'MIG-00000000-0000-0000-0001-000000000001', 5 * gib]],
    );
    assert.is(wrong?.gpuName, 'No GPU');
    assert.match(wrong?.gpuReason ?? '', 'CUDA_VISIBLE_DEVICES="GPU-ffffffff"');
  });

  test('what real drivers do besides: other people, growing lists, shared memory, old MIG names', async () => {
    const [forbidden, allForbidden, many, mps, unified, zero, legacy, legacies] = await play<HardwareFacts>(
      modern,
      [
        facts({ FAKE_GPU_COUNT: '4', FAKE_GPU_FORBIDDEN: ',0,1,3,', CUDA_VISIBLE_DEVICES: '2' }),
        facts({ FAKE_GPU_COUNT: '2', FAKE_GPU_FORBIDDEN: ',0,1,', FAKE_CUDA_INIT: '999' }),
        facts({ FAKE_GPU_PROCESSES: '200' }),
        facts({ FAKE_GPU_MPS: '1' }),
        facts({ FAKE_GPU_UNIFIED: '1' }),
        facts({ FAKE_GPU_UNIFIED: 'zero' }),
        facts({ FAKE_GPU_MIG: '1', FAKE_GPU_MIG_LEGACY: '1' }),
        facts({ FAKE_GPU_MIG: '3', FAKE_GPU_MIG_LEGACY: '1' }),
      ],
    );
    assert.is(forbidden?.gpuName, 'NVIDIA Fake 2');
    assert.is(forbidden?.gpuReason, null, "other people's GPUs are no fault of ours");
    assert.match(allForbidden?.gpuName ?? '', /^GPU unusable: no permission/);

    const pids = many?.gpus[0]?.processes?.map(({ pid }) => pid) ?? [];
    assert.is(pids.length, 210, 'the list grew between two calls');
    assert.is(new Set(pids).size, 210);
    assert.equal(mps?.gpus[0]?.processes?.at(-1), { pid: 2000, usedBytes: gib });

    for (const shared of [unified, zero]) {
      assert.is(shared?.gpuTotalBytes, 16 * gib, 'CUDA knows the total');
      assert.is(shared?.gpus[0]?.integrated, true);
      assert.is(shared?.gpus[0]?.usedBytes, null);
      assert.is(shared?.gpus[0]?.freeBytes, null);
      assert.is(shared?.gpuReason, null);
    }

    assert.equal(
      legacy?.gpus.map((gpu) => [gpu.mig, gpu.totalBytes]),
      [[true, 5 * gib]],
    );
    assert.is(legacies?.gpus.length, 1);
    assert.is(legacies?.gpus[0]?.uuid, 'GPU-00000000-0000-0000-0000-000000000000', 'which one is not told');
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
    const [one, none, silent, falls, mig, unified, narrow, forbidden] = await play<Sampled>(modern, [
      frames({ FAKE_GPU_COUNT: '2' }, { count: 4, hz: 10 }),
      frames({ FAKE_GPU_COUNT: '0' }),
      frames({
        FAKE_GPU_FAIL:
          'nvmlDeviceGetPowerUsage=3,nvmlDeviceGetUtilizationRates=3,nvmlDeviceGetFieldValues=3,nvmlDeviceGetPcieThroughput=3,nvmlDeviceGetCurrentClocksEventReasons=3,nvmlDeviceGetTemperatureV=999',
      }),
      frames({ FAKE_GPU_LOST_FILE: gone }, { count: 6, thenWrite: gone }),
      frames({ FAKE_GPU_MIG: '2' }),
      frames({ FAKE_GPU_UNIFIED: '1' }),
      frames({ FAKE_GPU_NARROW: '1' }, { count: 8 }),
      frames({
        FAKE_GPU_FAIL:
          'nvmlDeviceGetComputeRunningProcesses_v3=4,nvmlDeviceGetGraphicsRunningProcesses_v3=4,nvmlDeviceGetMPSComputeRunningProcesses_v3=4',
      }),
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

    const instance = mig?.frames.at(-1)?.gpus[0];
    assert.is(instance?.totalBytes, 5 * gib);
    assert.is(instance?.temperatureCelsius, 63, 'the heat and the clocks of the board');
    assert.is(instance?.smClockMHz, 1980);
    assert.equal(instance?.throttleReasons, ['power_cap', 'thermal_software']);
    assert.is(instance?.powerWatts, null, 'the power of the board is not that of one instance');
    assert.is(instance?.energyJoules, null);
    assert.is(instance?.utilizationPercent, null);
    assert.is(instance?.processes?.length, 2);

    const shared = unified?.frames.at(-1)?.gpus[0];
    assert.is(shared?.lost, false);
    assert.is(shared?.totalBytes, 16 * gib);
    assert.is(shared?.usedBytes, null);
    assert.is(shared?.utilizationPercent, 87);

    assert.is(
      narrow?.frames.at(-1)?.gpus[0]?.pcieTxBytesPerSecond,
      100 * 1024,
      'a counter of 32 bits is left aside',
    );
    assert.is(forbidden?.frames.at(-1)?.gpus[0]?.processes, null, 'not an empty list');
  });
}

test.run();
