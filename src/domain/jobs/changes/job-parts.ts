import type { Store } from '../../../db/store.ts';
import type { JobRow } from '../../../db/tables/jobs.ts';
import type { Launcher } from '../../../trainer/processes/launcher.ts';
import type { JobSpec } from '../../../trainer/protocol.ts';
import type { Bin } from '../../bin/bin.ts';
import type { FrameLog } from '../../events/frame-log.ts';
import type { Models } from '../../models/models.ts';
import type { JudgedRequest, Judges } from '../../training/judge-request.ts';
import type { JobRecords } from '../job-records.ts';
import type { Waits } from '../run/follower.ts';
import type { JobRuns, JobRunsOptions } from '../run/job-runs.ts';
import type { TimeSources } from '../run/plan-run.ts';
export interface JobsOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly bin: Bin;
  readonly models: Models;
  readonly launcher: Launcher;
  /** What tells how long a run will take. */
  readonly times: TimeSources;
  readonly judges: Judges;
  /** Checks that a request will fit on the disk. @throws AppError `disk_full`. */
  readonly checkDisk: (judged: JudgedRequest) => Promise<void>;
  /** The paths of job folders and TensorBoard logs, and the tools for trainers. */
  readonly places: {
    readonly jobsDir: string;
    readonly logsDir: string | null;
    readonly tools: JobSpec['tools'];
  };
  /** Releases a job's files before it is deleted. @throws AppError `conflict` while they are in use. */
  readonly release: (job: JobRow) => Promise<void>;
  readonly waits: Waits;
  /** The most jobs that wait in the queue. */
  readonly queueLimit: number;
  /** How runs share the machine, its usage for the trace of a job's step, and who is told which jobs use it. */
  readonly machine: Pick<JobRunsOptions, 'share' | 'cluster' | 'takeTrace' | 'onActive'>;
  readonly logger: { warn(fields: object, text: string): void; info(fields: object, text: string): void };
}

/** What the changes of jobs share. */
export interface JobParts extends JobsOptions {
  readonly records: JobRecords;
  readonly runs: JobRuns;
  /** The folder of a job. */
  readonly folder: (id: number) => string;
}
