import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { listSystemFolder, readSystemFile } from './system-files.ts';

/**
 * The limits of the container (a Linux control group), and the files with its usage. `null` means no limit or no file.
 */
export interface ContainerLimits {
  /** CPU limit in cores; may be a fraction. */
  readonly quotaCores: number | null;
  readonly memoryLimitBytes: number | null;
  /** `cpu.stat` (version 2) or `cpuacct.usage` (version 1). */
  readonly cpuUsageFile: string | null;
  /** `memory.current` (version 2) or `memory.usage_in_bytes` (version 1). */
  readonly memoryUsageFile: string | null;
  readonly memoryStatFile: string | null;
}

const none: ContainerLimits = {
  quotaCores: null,
  memoryLimitBytes: null,
  cpuUsageFile: null,
  memoryUsageFile: null,
  memoryStatFile: null,
};

/** The CPUs that this process may use, limited by the container's quota. */
export function usableCores(): number {
  const { quotaCores } = readContainerLimits();
  return Math.min(availableParallelism(), Math.max(1, Math.ceil(quotaCores ?? Infinity)));
}

/**
 * Reads the limits of control groups (versions 1 and 2) of this process and all parents: the smallest applies. Tests set
 * `root` instead of `/`.
 */
export function readContainerLimits(root = '/'): ContainerLimits {
  const groups = readSystemFile(join(root, 'proc/self/cgroup'));
  if (groups === null) return none;
  const mount = join(root, 'sys/fs/cgroup');
  let limits: ContainerLimits = none;
  for (const line of groups.split('\n')) {
    // Such as 0::/user.slice/session (version 2) or 4:cpu,cpuacct:/docker/abc (version 1).
    const [hierarchy, controllers, ...rest] = line.split(':');
    if (hierarchy === undefined || controllers === undefined || rest.length === 0) continue;
    const path = rest.join(':');
    if (hierarchy === '0' && controllers === '') {
      // With version 1 beside it, version 2 is mounted one folder deeper and limits nothing.
      if (readSystemFile(join(mount, 'cgroup.controllers')) !== null)
        limits = merge(limits, versionTwo(mount, path));
    } else {
      limits = merge(limits, versionOne(mount, controllers.split(','), path));
    }
  }
  return limits;
}

/** The group's folder and all above it. Inside a container the path may name folders of the host. */
function foldersOf(mount: string, path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '..');
  const folders = [mount];
  for (let i = 1; i <= parts.length; i += 1) folders.unshift(join(mount, ...parts.slice(0, i)));
  return folders;
}

function versionTwo(mount: string, path: string): ContainerLimits {
  let limits = none;
  for (const folder of foldersOf(mount, path)) {
    const [quota, period] = (readSystemFile(join(folder, 'cpu.max')) ?? '').trim().split(' ');
    const quotaCores = quota && quota !== 'max' ? positive(Number(quota) / Number(period)) : null;
    const memoryLimitBytes = positive(Number(readSystemFile(join(folder, 'memory.max')) ?? Number.NaN));
    limits = merge(limits, {
      quotaCores,
      memoryLimitBytes,
      cpuUsageFile: quotaCores === null ? null : join(folder, 'cpu.stat'),
      memoryUsageFile: memoryLimitBytes === null ? null : join(folder, 'memory.current'),
      memoryStatFile: memoryLimitBytes === null ? null : join(folder, 'memory.stat'),
    });
  }
  return limits;
}

/** Version 1 writes "no limit" as a number near 2^63. */
const versionOneUnlimitedBytes = 2 ** 60;

function versionOne(mount: string, controllers: string[], path: string): ContainerLimits {
  let limits = none;
  const name = controllers.join(',');
  const isMemory = controllers.includes('memory');
  if (!isMemory && !controllers.includes('cpu') && !controllers.includes('cpuacct')) return none;
  for (const base of [join(mount, name), ...controllers.map((one) => join(mount, one))]) {
    for (const folder of foldersOf(base, path)) {
      if (isMemory) {
        const limit = positive(Number(readSystemFile(join(folder, 'memory.limit_in_bytes')) ?? Number.NaN));
        if (limit === null || limit >= versionOneUnlimitedBytes) continue;
        limits = merge(limits, {
          ...none,
          memoryLimitBytes: limit,
          memoryUsageFile: join(folder, 'memory.usage_in_bytes'),
          memoryStatFile: join(folder, 'memory.stat'),
        });
      } else {
        const quota = Number(readSystemFile(join(folder, 'cpu.cfs_quota_us')) ?? Number.NaN);
        const period = Number(readSystemFile(join(folder, 'cpu.cfs_period_us')) ?? Number.NaN);
        const quotaCores = positive(quota / period);
        const usage = join(folder, 'cpuacct.usage');
        const hasUsage = quotaCores !== null && readSystemFile(usage) !== null;
        limits = merge(limits, { ...none, quotaCores, cpuUsageFile: hasUsage ? usage : null });
      }
    }
  }
  return limits;
}

/** The stricter of two, each limit with the files that belong to it. */
function merge(one: ContainerLimits, other: ContainerLimits): ContainerLimits {
  const cpu = (other.quotaCores ?? Infinity) < (one.quotaCores ?? Infinity) ? other : one;
  const memory = (other.memoryLimitBytes ?? Infinity) < (one.memoryLimitBytes ?? Infinity) ? other : one;
  return {
    quotaCores: cpu.quotaCores,
    cpuUsageFile: cpu.cpuUsageFile,
    memoryLimitBytes: memory.memoryLimitBytes,
    memoryUsageFile: memory.memoryUsageFile,
    memoryStatFile: memory.memoryStatFile,
  };
}

function positive(value: number): number | null {
  return Number.isFinite(value) && value > 0 ? value : null;
}

/**
 * The processors that this process may run on (its affinity), by number, and on how many physical cores they
 * lie. `null` where the platform does not say (anything but Linux).
 */
export function readProcessors(
  root = '/',
): { readonly cpus: readonly number[]; readonly physicalCores: number } | null {
  const status = readSystemFile(join(root, 'proc/self/status'));
  const allowed = /^Cpus_allowed_list:\s*(\S+)/m.exec(status ?? '')?.[1];
  if (allowed === undefined) return null;
  const folder = join(root, 'sys/devices/system/cpu');
  const present = new Set(
    listSystemFolder(folder)
      .filter((name) => /^cpu\d+$/.test(name))
      .map((name) => Number(name.slice(3))),
  );
  const cpus = ranges(allowed).filter((cpu) => present.size === 0 || present.has(cpu));
  const cores = new Set<string>();
  for (const cpu of cpus) {
    const topology = join(folder, `cpu${cpu}`, 'topology');
    const siblings = readSystemFile(join(topology, 'thread_siblings_list'));
    cores.add(siblings?.trim() || `cpu${cpu}`);
  }
  return { cpus, physicalCores: cores.size };
}

/** `0-3,8` as numbers. */
function ranges(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [first, last] = part.split('-').map(Number);
    if (first === undefined || Number.isNaN(first)) return [];
    return Array.from({ length: (last ?? first) - first + 1 }, (_, i) => first + i);
  });
}
