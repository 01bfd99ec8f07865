import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { fakeDriver } from '../native/fake/build.ts';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  temporaryFolder,
  until,
  untilEnded,
} from '../service.ts';

/** An installation whose trainer is `steps-trainer.mjs`. */
function installation(): NodeJS.ProcessEnv {
  const folder = temporaryFolder();
  for (const name of ['dist', 'src', 'build', 'node_modules', 'examples'])
    symlinkSync(join(root, name), join(folder, name));
  const bin = join(folder, 'trainer', '.venv', 'bin');
  mkdirSync(bin, { recursive: true });
  const trainer = join(import.meta.dirname, 'steps-trainer.mjs');
  writeFileSync(join(bin, 'python'), `#!/bin/sh\nexec "${process.execPath}" "${trainer}" "$@"\n`);
  chmodSync(join(bin, 'python'), 0o755);
  return { HONE_INSTALL_DIR: folder, HONE_TEST_REAL_ROOT: root };
}

if (process.platform === 'linux') {
  const driver = fakeDriver('modern');
  test.after(async () => {
    await endAll();
    rmSync(driver, { recursive: true, force: true });
  });

  test('the driver is sampled while somebody listens or a job runs, and at no other time', async () => {
    const calls = join(temporaryFolder(), 'calls');
    const service = await startService({
      env: { ...installation(), LD_LIBRARY_PATH: driver, FAKE_GPU_CALLS_FILE: calls },
    });
    const samples = () =>
      readFileSync(calls, 'utf8')
        .split('\n')
        .filter((line) => line === `${service.process.pid} nvmlDeviceGetUtilizationRates`).length;
    const isQuiet = async () => {
      await sleep(300); // what was under way ends
      const before = samples();
      await sleep(700);
      return samples() === before;
    };
    assert.is((await service.call('GET', '/api/finetune/hardware_specs')).body.gpu_name, 'NVIDIA Fake 0');
    const { body: hardware } = await service.call('GET', '/api/hardware');
    const [gpu] = hardware.gpus;
    assert.match(gpu.uuid, /^GPU-/);
    assert.is(gpu.compute_capability, '9.0');
    // The driver keeps some for itself.
    assert.ok(gpu.memory_total_bytes >= gpu.memory_free_bytes + gpu.memory_used_bytes);
    assert.ok(gpu.processes.length > 0 && gpu.processes[0].memory_used_bytes > 0);
    assert.ok(hardware.driver_version !== null && hardware.cuda_version !== null);
    await until(isQuiet, 'nobody listens');

    const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
    const frames: Json[] = [];
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data));
      if (frame.type === 'gpu') frames.push(frame);
    });
    await until(() => frames.length >= 3 && frames.at(-1).gpu_state === 'read', 'frames come');
    assert.is(frames.at(-1).gpus[0].name, 'NVIDIA Fake 0');
    assert.is(frames.at(-1).gpus[0].power_watts, 250.5);
    assert.equal(
      frames.at(-1).gpus[0].processes.map(({ pid }: Json) => pid),
      gpu.processes.map(({ pid }: Json) => pid),
    );
    assert.type(frames.at(-1).gpus[0].pcie_rx_bytes_per_second, 'number');
    assert.type(frames.at(-1).cpu_percent, 'number');
    assert.ok(samples() > 0);
    socket.close();
    await until(isQuiet, 'nobody listens any more');

    await service.upload('support.jsonl', supportRows());
    const started = await service.call('POST', '/api/start_training', quickRequest());
    assert.is(started.status, 200, JSON.stringify(started.body));
    await untilEnded(service);
    const { body: series } = await service.call('GET', '/api/jobs/train_1/metrics');
    const traces = series.train.map((point: Json) => point.hardware).filter(Boolean);
    assert.is(traces.length, 6, 'a trace for every step');
    assert.is(traces.at(-1).gpu_peak_bytes, 2 * 2 ** 30);
    assert.is(traces.at(-1).gpu_mean_utilization_percent, 87);
    assert.ok(traces.at(-1).gpu_watt_hours > 0);
    const { consumption } = (await service.call('GET', '/api/jobs/train_1')).body;
    const wattHours = traces.reduce((sum: number, trace: Json) => sum + (trace.gpu_watt_hours ?? 0), 0);
    assert.ok(Math.abs(consumption.gpu_kilowatt_hours - wattHours / 1000) < 1e-9);
    assert.is(consumption.gpu_peak_bytes, 2 * 2 ** 30);
    assert.ok(consumption.ram_peak_bytes > 0);
    await until(isQuiet, 'the job has ended');
  });

  test('without the addon the service works and says what is missing', async () => {
    const service = await startService({ env: { HONE_NATIVE_BUILD: join(temporaryFolder(), 'none') } });
    assert.is((await service.call('GET', '/api/health')).body.status, 'healthy');
    const { body } = await service.call('GET', '/api/finetune/hardware_specs');
    assert.is(body.gpu_memory_gb, 0);
    const { body: hardware } = await service.call('GET', '/api/hardware');
    assert.equal(hardware.gpus, []);
    assert.match(hardware.gpu_reason, /addon is not built/);
    assert.ok(body.ram_gb > 0 && body.cpu_cores > 0 && body.disk_space_gb > 0);
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
    await once(socket, 'open');
    await until(
      () => service.log.some(({ reason }) => /addon is not built/.test(String(reason))),
      'the log says why there are no live figures',
    );
    socket.close();
    await service.upload('support.jsonl', supportRows());
    assert.is((await service.call('GET', '/api/datasets')).body.datasets[0].num_examples > 0, true);
  });
}

test.run();
