import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GpuFacts } from '../../../hardware/facts.ts';
import { hasCuda, type Machine } from '../../machine/machine.ts';

/**
 * The numbers of a run's devices. `null` stands for all that there are, `cluster` for some that the cluster gives, which
 * may be those of this machine.
 */
export type Held = readonly number[] | 'cluster' | null;

/** What the runs share. With `parallel` 1, a run has all devices. */
export interface Share {
  /** The most runs at once. */
  readonly parallel: number;
  /** GPUs, or equal shares of the processor's cores. */
  readonly count: number;
  /** One of them, in words. */
  readonly device: string;
  /** The environment of a run with these devices. */
  environment(held: Held): NodeJS.ProcessEnv;
}

/**
 * The devices for a run with `workers` processes, one for each as far as there are any.
 * @param others what the current runs hold.
 * @param onCluster whether the cluster gives it its devices, and makes it wait while they are in use.
 * @returns undefined if the run has to wait.
 */
export function pickDevices(
  { parallel, count }: Pick<Share, 'parallel' | 'count'>,
  others: readonly Held[],
  workers: number,
  onCluster = false,
): Held | undefined {
  if (others.length === 0 && parallel === 1) return null;
  if (others.length >= parallel || others.includes(null)) return undefined;
  // Hone and Ray do not know which devices of this machine the other one has given.
  if (others.some((held) => (held === 'cluster') !== onCluster)) return undefined;
  if (onCluster) return 'cluster';
  const free = freeOf(count, others);
  const wanted = Math.min(workers, count);
  return free.length < wanted ? undefined : free.slice(0, wanted);
}

/** The devices that none of the current runs holds. */
function freeOf(count: number, others: readonly Held[]): number[] {
  const taken = new Set(others.flatMap((held) => (Array.isArray(held) ? held : [])));
  return Array.from({ length: count }, (_, device) => device).filter((device) => !taken.has(device));
}

/**
 * The devices that work beside the trainings may use, `null` for the whole machine.
 * @param others what the current runs hold.
 * @returns undefined while there are none.
 */
export function spareDevices(
  { parallel, count }: Pick<Share, 'parallel' | 'count'>,
  others: readonly Held[],
): readonly number[] | null | undefined {
  if (parallel === 1) return others.length === 0 ? null : undefined;
  if (others.some((held) => !Array.isArray(held))) return undefined;
  const free = freeOf(count, others);
  return free.length === 0 ? undefined : free;
}

/**
 * A reader of how `parallel` runs share this machine, which is read once.
 * @param environment the service's own.
 */
export function createShare(
  machine: () => Promise<Machine>,
  { parallel, environment }: { readonly parallel: number; readonly environment: NodeJS.ProcessEnv },
): () => Promise<Share> {
  if (parallel === 1)
    return async () => ({ parallel, count: 1, device: 'the whole machine', environment: () => ({}) });
  let share: Promise<Share> | null = null;
  return () => {
    share ??= machine().then((read) => shareMachine(read, parallel, environment));
    return share;
  };
}

/** How several runs share a machine. */
export function shareMachine(machine: Machine, parallel: number, environment: NodeJS.ProcessEnv): Share {
  if (hasCuda(machine)) {
    const gpus = machine.facts.gpus.filter(({ lost }) => lost === null);
    const visible = gpus.map((gpu) => nameOf(gpu, environment.CUDA_VISIBLE_DEVICES));
    return {
      parallel,
      count: gpus.length,
      device: 'a GPU',
      environment: (held) =>
        Array.isArray(held) ? { CUDA_VISIBLE_DEVICES: held.map((device) => visible[device]).join(',') } : {},
    };
  }
  const { cpuCoresLogical, cpuCoresPhysical } = machine.facts;
  const cores = cpuCoresPhysical ?? cpuCoresLogical;
  const count = Math.min(parallel, cpuCoresLogical);
  // One core remains for the playground, which has one thread during a training.
  const threads = Math.max(1, Math.floor((cores - 1) / count));
  const most = Number(environment.OMP_NUM_THREADS) || Infinity;
  return {
    parallel,
    count,
    device: `${threads} thread${threads === 1 ? '' : 's'}`,
    environment: (held) =>
      Array.isArray(held) ? { OMP_NUM_THREADS: String(Math.min(most, threads * held.length)) } : {},
  };
}

/** How many runs there can be at once, in words. */
export function describeShare({ parallel, count, device }: Share): string {
  const atOnce = Math.min(parallel, count);
  const fewer = atOnce < parallel ? `, as there are no more devices (--parallel ${parallel})` : '';
  return `${atOnce === 1 ? 'one training at a time' : `${atOnce} trainings at once`}, each with ${device}${fewer}`;
}

/** How `CUDA_VISIBLE_DEVICES` names a GPU; `visible` is its present value. */
function nameOf({ uuid, index }: GpuFacts, visible: string | undefined): string {
  return uuid ?? visible?.split(',')[index]?.trim() ?? String(index);
}

/** What a run holds, kept in its job's folder, so that it is known after a restart and without the database. */
const fileOf = (folder: string) => join(folder, 'devices.json');

/** Stores what a run holds; a run that holds everything has no file. */
export async function keepHeld(folder: string, held: Held): Promise<void> {
  if (held === null) await rm(fileOf(folder), { force: true });
  else await writeFile(fileOf(folder), `${JSON.stringify({ devices: held })}\n`);
}

/** What the run in this folder holds. */
export function readHeld(folder: string): Held {
  try {
    const { devices } = JSON.parse(readFileSync(fileOf(folder), 'utf8'));
    if (devices === 'cluster') return devices;
    return Array.isArray(devices) && devices.every(Number.isInteger) ? devices : null;
  } catch {
    // Missing, or cut off by a loss of power: then it counts as holding everything.
    return null;
  }
}
