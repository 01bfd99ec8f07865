import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readFacts } from '../../src/hardware/facts.ts';
import { summarize } from '../../src/hardware/gpu-facts.ts';
import { hasNvidiaDevice } from '../../src/hardware/nvidia-device.ts';
import { readTorchVersion } from '../../src/hardware/torch-version.ts';
import type { NativeGpus } from '../../src/native/addon.ts';

const folder = mkdtempSync(join(tmpdir(), 'hone-facts-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

test('the facts of this machine agree with the operating system', async () => {
  const facts = await readFacts({ dataDir: join(folder, 'not', 'yet', 'there') });
  assert.is(facts.addonReason, null);
  assert.ok(facts.ramTotalBytes > 0 && facts.ramTotalBytes <= totalmem());
  assert.ok(facts.ramAvailableBytes > 0 && facts.ramAvailableBytes <= facts.ramTotalBytes);
  assert.ok(facts.cpuCoresLogical >= 1 && facts.cpuCoresLogical <= availableParallelism());
  assert.ok((facts.cpuCoresPhysical ?? 1) <= facts.cpuCoresLogical);
  const disk = statfsSync(folder);
  assert.ok(Math.abs((facts.diskFreeBytes ?? 0) - disk.bavail * disk.bsize) < 2 ** 30);
  if (facts.gpus.length === 0) {
    assert.is(facts.gpuTotalBytes, 0);
    assert.type(facts.gpuReason, 'string');
  }
});

test('without a built addon the facts are there and say what is missing', () => {
  const script = join(folder, 'no-addon.mts');
  const facts = new URL('../../src/hardware/facts.ts', import.meta.url).href;
  const sampler = new URL('../../src/hardware/sampler.ts', import.meta.url).href;
  const quantize = new URL('../../src/native/quantize.ts', import.meta.url).href;
  writeFileSync(
    script,
    `import { readFacts } from '${facts}';
     import { startSampler } from '${sampler}';
     import { quantize, quantizeErrorCode } from '${quantize}';
     const { ramTotalBytes, gpuReason, addonReason } = await readFacts({ dataDir: '.' });
     const { reason } = startSampler({ onBatch: () => {} });
     const code = await quantize('a', 'b', 'Q8_0').catch(quantizeErrorCode);
     console.log(JSON.stringify({ ramTotalBytes, gpuReason, addonReason, reason, code }));`,
  );
  for (const build of ['build/no-such-build', join(folder, 'broken')]) {
    mkdirSync(join(folder, 'broken', 'Release'), { recursive: true });
    writeFileSync(join(folder, 'broken', 'Release', 'hone.node'), 'no library');
    const output = execFileSync(process.execPath, ['--import', 'tsx', script], {
      encoding: 'utf8',
      env: { ...process.env, HONE_NATIVE_BUILD: build },
    });
    const answer = JSON.parse(output) as Record<string, unknown>;
    assert.ok((answer.ramTotalBytes as number) > 0);
    assert.match(answer.addonReason as string, /addon (is not built|cannot be loaded)/);
    assert.is(answer.reason, answer.addonReason);
    assert.is(answer.code, 'addon_missing');
  }
});

test('the PyTorch of an environment is read from its files', async () => {
  const packages =
    process.platform === 'win32'
      ? join(folder, 'venv', 'Lib', 'site-packages')
      : join(folder, 'venv', 'lib', 'python3.12', 'site-packages');
  mkdirSync(join(packages, 'torch-2.14.1.dist-info'), { recursive: true });
  mkdirSync(join(packages, 'torch'));
  writeFileSync(
    join(packages, 'torch-2.14.1.dist-info', 'METADATA'),
    'Metadata-Version: 2.4\nName: torch\nVersion: 2.14.1\n',
  );
  assert.equal(await readTorchVersion(join(folder, 'venv')), { version: '2.14.1', cuda: null });
  writeFileSync(
    join(packages, 'torch', 'version.py'),
    "__version__ = '2.14.1+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\n",
  );
  assert.equal(await readTorchVersion(join(folder, 'venv')), { version: '2.14.1+cu130', cuda: '13.0' });
  assert.is(await readTorchVersion(join(folder, 'nowhere')), null);
});

test('a GPU on the bus without a driver is broken, not absent', async () => {
  const nothing: NativeGpus = {
    nvml: { code: 'library_missing', message: 'no such file' },
    cuda: { code: 'library_missing', message: 'no such file' },
    driverVersion: null,
    cudaVersion: null,
    installed: 0,
    cudaUsable: false,
    gpus: [],
  };
  assert.is(summarize(nothing, false).gpuName, 'No GPU');
  assert.is(summarize(nothing, true).gpuName, 'GPU unusable: its driver is not installed');
  const notLoaded = {
    ...nothing,
    nvml: { code: 'nvml_driver_not_loaded', message: 'Driver Not Loaded (9)' },
  };
  assert.is(summarize(notLoaded, false).gpuName, 'No GPU');
  assert.is(summarize(notLoaded, true).gpuName, 'GPU unusable: the NVIDIA driver is not loaded');
});

if (process.platform === 'linux') {
  test('the bus is asked for NVIDIA devices of the display class', async () => {
    const device = (name: string, vendor: string, kind: string) => {
      const path = join(folder, 'root', 'sys/bus/pci/devices', name);
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, 'vendor'), `${vendor}\n`);
      writeFileSync(join(path, 'class'), `${kind}\n`);
    };
    assert.is(await hasNvidiaDevice(join(folder, 'nowhere')), null);
    device('0000:00:01.0', '0x8086', '0x030000');
    device('0000:00:02.0', '0x10de', '0x040300'); // the sound part of a graphics card
    assert.is(await hasNvidiaDevice(join(folder, 'root')), false);
    device('0000:00:03.0', '0x10de', '0x030200');
    assert.is(await hasNvidiaDevice(join(folder, 'root')), true);
  });
}

test.run();
