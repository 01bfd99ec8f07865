import { join } from 'node:path';
import type { KeyUseRow, KeyUseStore } from '../../db/tables/key-uses.ts';
import { asAppError } from '../../errors.ts';
import type { AccessKeys } from '../access/access-keys.ts';
import { bytesOf } from '../bin/bytes-of.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { type Job, jobName } from '../job-record/job.ts';
import { runSeconds } from '../job-record/timing/run-seconds.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Ledger } from './ledger.ts';

export interface WatchedRuns {
  readonly keyUses: KeyUseStore;
  readonly frames: FrameLog;
  readonly keys: AccessKeys;
  readonly jobs: Jobs;
  readonly jobsDir: string;
  readonly modelsDir: string;
  /** How often runs are looked at. */
  readonly everyMs: number;
}

/** Writes down what runs use whose key has a budget, and saves and stops them at its limit. @returns what ends it. */
export function watchRuns(
  { keyUses, frames, keys, jobs, ...options }: WatchedRuns,
  ledger: Ledger,
): () => void {
  const stopping = new Set<number>();
  let looking = false;
  // Also those that end while no service follows them.
  let going: readonly KeyUseRow[] = keyUses.unfinished();

  async function bytesWritten({ id, modelId }: Job): Promise<number> {
    return bytesOf([join(options.jobsDir, jobName(id)), join(options.modelsDir, modelId)]);
  }

  async function look(use: KeyUseRow): Promise<void> {
    const job = jobs.get(Number(use.ref));
    const { gpu_kilowatt_hours: gpu, cpu_kilowatt_hours: cpu } = jobs.consumption(job.id);
    const minutes = runSeconds(job) / 60;
    const energyWh = ((gpu ?? 0) + (cpu ?? 0)) * 1000;
    keyUses.put({ ...use, minutes, energyWh, bytes: await bytesWritten(job) });
    const holder = keys.holder(use.keyId);
    if (holder === null) return stop(job, 'its access key was removed');
    const isUnmeasured = gpu === null && cpu === null && job.lastMetric !== null;
    if (isUnmeasured && holder.budget?.energy_wh !== undefined)
      return stop(job, 'its budget bounds the energy, which cannot be measured on this machine');
    // The last run of a budget belongs to it.
    const reached = ledger.reached(holder, ['minutes', 'energy_wh', 'disk_mb']);
    if (reached !== null) stop(job, `the budget of the access key "${holder.name}" is used up. ${reached}`);
  }

  function stop({ id, state }: Job, why: string): void {
    if (!['queued', 'starting', 'running'].includes(state) || stopping.has(id)) return;
    stopping.add(id);
    const message = `The run is stopped and saved: ${why}.`;
    frames.commit((emit) => emit('log', id, { level: 'warning', kind: 'warning', code: 'budget', message }));
    void jobs
      .stop(id)
      // It has ended by itself.
      .catch(() => undefined)
      .finally(() => stopping.delete(id));
  }

  async function lookAtAll(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      const unfinished = keyUses.unfinished();
      const refs = new Set(unfinished.map(({ ref }) => ref));
      // Those that have ended since the last look are looked at once more.
      for (const use of [...going.filter(({ ref }) => !refs.has(ref)), ...unfinished])
        await look(use).catch((error) => {
          // It was deleted.
          if (asAppError(error).kind !== 'not_found') throw error;
        });
      going = unfinished;
    } finally {
      looking = false;
    }
  }

  // What cannot be written down on a full disk is looked at again.
  const timer = setInterval(() => void lookAtAll().catch(() => undefined), options.everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
