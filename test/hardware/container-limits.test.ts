import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readContainerLimits, readProcessors } from '../../src/hardware/container-limits.ts';
import { hostSources } from '../../src/hardware/sampler.ts';

const folders: string[] = [];
test.after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A root folder with these files, as the kernel lays them out. */
function machine(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'hone-cgroup-'));
  folders.push(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

test('without control groups, or without limits', async () => {
  const nothing = {
    quotaCores: null,
    memoryLimitBytes: null,
    cpuUsageFile: null,
    memoryUsageFile: null,
    memoryStatFile: null,
  };
  assert.equal(readContainerLimits(machine({})), nothing);
  const unlimited = machine({
    'proc/self/cgroup': '0::/user.slice\n',
    'sys/fs/cgroup/cgroup.controllers': 'cpu memory\n',
    'sys/fs/cgroup/user.slice/memory.max': 'max\n',
    'sys/fs/cgroup/user.slice/cpu.max': 'max 100000\n',
  });
  assert.equal(readContainerLimits(unlimited), nothing);
});

test('version 2: the strictest group above us holds', async () => {
  const root = machine({
    'proc/self/cgroup': '0::/pod/container\n',
    'sys/fs/cgroup/cgroup.controllers': 'cpu memory\n',
    'sys/fs/cgroup/pod/cpu.max': '150000 100000\n',
    'sys/fs/cgroup/pod/memory.max': '8589934592\n',
    'sys/fs/cgroup/pod/container/cpu.max': '400000 100000\n',
    'sys/fs/cgroup/pod/container/memory.max': '2147483648\n',
  });
  const limits = readContainerLimits(root);
  assert.is(limits.quotaCores, 1.5);
  assert.is(limits.cpuUsageFile, join(root, 'sys/fs/cgroup/pod/cpu.stat'));
  assert.is(limits.memoryLimitBytes, 2 ** 31);
  assert.is(limits.memoryUsageFile, join(root, 'sys/fs/cgroup/pod/container/memory.current'));
});

test('version 2 in a container that sees its own group as the root', async () => {
  const root = machine({
    'proc/self/cgroup': '0::/\n',
    'sys/fs/cgroup/cgroup.controllers': 'cpu memory\n',
    'sys/fs/cgroup/cpu.max': '50000 100000\n',
    'sys/fs/cgroup/memory.max': '1073741824\n',
  });
  const limits = readContainerLimits(root);
  assert.is(limits.quotaCores, 0.5);
  assert.is(limits.memoryLimitBytes, 2 ** 30);
  const sources = hostSources(root);
  assert.is(sources.quotaCores, 0.5);
  assert.is(sources.cgroupMemory, join(root, 'sys/fs/cgroup/memory.current'));
});

test('version 1: named controllers, a path of the host, and the number for no limit', async () => {
  const root = machine({
    'proc/self/cgroup': '5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '3221225472\n', // the container's own view
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '200000\n',
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
    'sys/fs/cgroup/cpu,cpuacct/cpuacct.usage': '123456789\n',
  });
  const limits = readContainerLimits(root);
  assert.is(limits.memoryLimitBytes, 3 * 2 ** 30);
  assert.is(limits.memoryUsageFile, join(root, 'sys/fs/cgroup/memory/memory.usage_in_bytes'));
  assert.is(limits.quotaCores, 2);
  assert.is(limits.cpuUsageFile, join(root, 'sys/fs/cgroup/cpu,cpuacct/cpuacct.usage'));

  const unlimited = machine({
    'proc/self/cgroup': '5:memory:/\n4:cpu:/\n',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
    'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
  });
  assert.is(readContainerLimits(unlimited).memoryLimitBytes, null);
  assert.is(readContainerLimits(unlimited).quotaCores, null);
});

test('processors: the affinity counts, and siblings of one core are one physical core', async () => {
  const topology = (cpu: number, siblings: string) => ({
    [`sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`]: `${siblings}\n`,
  });
  const root = machine({
    'proc/self/status': 'Name:\tnode\nCpus_allowed_list:\t0-1,4,9\n',
    ...topology(0, '0,4'),
    ...topology(1, '1,5'),
    ...topology(4, '0,4'),
    ...topology(5, '1,5'),
  });
  assert.equal(readProcessors(root), { cpus: [0, 1, 4], physicalCores: 2 });
  assert.is(readProcessors(machine({})), null);
});

test.run();
