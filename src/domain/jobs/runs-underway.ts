import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { activeStates } from '../../contract/jobs.ts';
import type { Store } from '../../db/store.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { type Job, jobName } from '../job-record/job.ts';
import type { OtherRun } from '../training/estimate/other-runs.ts';
import { readHeld, type Share } from './run/devices.ts';

/** What a run writes into its folder that the estimate of its disk space counts. */
const writtenFolders = ['checkpoints', 'artifacts'] as const;

/** A reader of the runs that are going, for the estimate of another one. */
export function createRunsUnderway(options: {
  readonly store: Store;
  readonly jobsDir: string;
  readonly share: () => Promise<Share>;
}): () => Promise<OtherRun[]> {
  const { store, jobsDir } = options;
  return async () => {
    const { parallel } = await options.share();
    const jobs = store.jobs.inStates(activeStates) as Job[];
    return Promise.all(
      jobs.flatMap((job) => {
        const spec = job.spec as JobSpec | null;
        return spec === null ? [] : [otherRun(job, spec, join(jobsDir, jobName(job.id)), parallel > 1)];
      }),
    );
  };
}

/** Where the size of a run's model can be read: a merged one has that of its base. */
const placeOf = ({ name, path, adapter }: JobSpec['model']): string =>
  adapter === undefined ? (path ?? name) : (adapter.base_path ?? adapter.base);

async function otherRun(job: Job, spec: JobSpec, folder: string, isBeside: boolean): Promise<OtherRun> {
  const { task, strategy, provider, settings, model } = spec;
  const disk = spec.disk as JobSpec['disk'] | undefined;
  const held = readHeld(folder);
  const { lastMetric: last, startedAt } = job;
  // The first process tells; those of a cluster are counted once, as in the estimate.
  const told = last !== null && startedAt !== null && last.time >= startedAt ? (last.memory_bytes ?? 0) : 0;
  const written = await Promise.all(writtenFolders.map((name) => bytesIn(join(folder, name))));
  return {
    name: jobName(job.id),
    modelName: placeOf(model),
    choices: { task, strategy, provider, settings },
    // Absent in older job folders.
    disk: {
      checkpointsBytes: disk?.checkpoints_bytes ?? 0,
      teacherBytes: disk?.teacher_bytes ?? 0,
      checkpointsPerTrainedWeight: disk?.checkpoints_per_trained_weight ?? 0,
      exportPerWeight: disk?.export_per_weight ?? 0,
      exportPerTrainedWeight: disk?.export_per_trained_weight ?? 0,
      spareBytes: disk?.spare_bytes ?? 0,
    },
    isBeside,
    memoryBytes: told * (held === 'cluster' ? 1 : (settings.workers ?? 1)),
    writtenBytes: written.reduce((sum, bytes) => sum + bytes, 0),
    devices: Array.isArray(held) ? held : [],
  };
}

/** The bytes of the files in a folder; 0 if it does not exist. Files that go meanwhile are not counted. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries.map(async (entry) =>
    entry.isFile()
      ? stat(join(entry.parentPath, entry.name)).then(
          ({ size }) => size,
          () => 0,
        )
      : 0,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
