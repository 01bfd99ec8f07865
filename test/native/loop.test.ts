import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { root, startService } from '../service.ts';
import { fakeDriver, loopWatch } from './fake/build.ts';

/*
 * The fake driver writes down every function that is called on the process's main thread, which is the one of the
 * event loop. What a slow driver costs the loop in time is measured by `npm run bench -- hardware`.
 */

if (process.platform === 'linux') {
  const driver = fakeDriver('modern');
  const folder = mkdtempSync(join(tmpdir(), 'hone-loop-'));
  test.after(() => {
    for (const used of [driver, folder]) rmSync(used, { recursive: true, force: true });
  });
  const slow = (file: string) => ({
    LD_LIBRARY_PATH: driver,
    FAKE_GPU_DELAY_MS: '20',
    FAKE_GPU_LOOP_FILE: join(folder, file),
  });

  /** What a process has called on its main thread; its children write into the same file. */
  const calledBy = (pid: number | undefined, file: string): string[] =>
    existsSync(join(folder, file))
      ? readFileSync(join(folder, file), 'utf8')
          .split('\n')
          .filter((line) => line.startsWith(`${pid} `))
      : [];
  const start = (args: string[], env: NodeJS.ProcessEnv, cwd: string) => {
    const started = promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env }, cwd });
    return { pid: started.child.pid, ended: started.catch((error) => error as { stdout: string }) };
  };

  test('the watcher and the driver see a call on the thread of the loop', async () => {
    const loop = join(root, 'bench', 'programs', 'loop.ts');
    const argv = ['--import', 'tsx', loop, 'driver', '0', loopWatch(folder)];
    const { pid, ended } = start(argv, slow('control'), root);
    const { stdout } = await ended;
    const { waits, longestDriverWait } = JSON.parse(stdout);
    assert.is(waits, 1, stdout);
    assert.ok(longestDriverWait > 10, stdout);
    assert.equal(calledBy(pid, 'control'), [`${pid} nvmlInit_v2`]);
  });

  test('the service asks the driver for facts and figures, and never on the thread of the loop', async () => {
    const service = await startService({ env: slow('service') });
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
    const frame = new Promise<{ gpus: { utilization_percent: number }[] }>((done) => {
      socket.on('message', (data) => {
        const message = JSON.parse(String(data));
        if (message.type === 'gpu' && message.gpu_state === 'read') done(message);
      });
    });
    const specs = await service.call('GET', '/api/finetune/hardware_specs');
    assert.is(specs.body.gpu_name, 'NVIDIA Fake 0');
    const detected = await service.call('POST', '/api/finetune/detect', { task: 'text-generation' });
    assert.is(detected.body.gpu_total_memory_gb, 16);
    assert.is((await service.call('GET', '/api/finetune/load_settings')).status, 200);
    assert.is((await service.call('GET', '/api/info')).status, 200);
    assert.is((await service.call('GET', '/metrics')).status, 200);
    assert.is((await frame).gpus[0]?.utilization_percent, 87);
    socket.close();
    await service.end();
    assert.equal(calledBy(service.process.pid, 'service'), []);
  });

  test('the doctor does not either', async () => {
    const env = { ...slow('doctor'), SERVICE_DATA_DIR: folder, OMP_NUM_THREADS: '1' };
    const { pid, ended } = start([join(root, 'dist', 'main.js'), 'doctor'], env, folder);
    assert.match((await ended).stdout, 'NVIDIA Fake 0, 16 GB');
    assert.equal(calledBy(pid, 'doctor'), []);
  });
}

test.run();
