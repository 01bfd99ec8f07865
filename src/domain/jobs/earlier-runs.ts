import { type JobState, phasesOf } from '../../contract/jobs.ts';
import type { Settings } from '../../contract/settings.ts';
import type { Store } from '../../db/store.ts';
import { type Job, jobName } from '../job-record/job.ts';
import { heldOutRows } from '../training/steps.ts';
import type { TimedRun } from '../training/time-estimate.ts';

/** The newest runs of a model that are looked at. */
const lookedAt = 20;
const counted: readonly JobState[] = ['running', 'stopping', 'completed', 'stopped', 'interrupted', 'failed'];
const exporting: readonly unknown[] = phasesOf('Export', 'Verify');

/** What earlier runs of a model took on this machine, newest first. */
export const createEarlierRuns =
  (store: Store) =>
  (modelName: string): TimedRun[] => {
    const { jobs } = store.jobs.list({ states: counted, modelName, limit: lookedAt, offset: 0 });
    return (jobs as Job[]).flatMap((job) => timedRun(store, job) ?? []);
  };

/** The parts of a job's specification that tell how much work it was; others may be absent. */
interface StoredSpec {
  readonly settings?: Settings;
  readonly dataset?: { readonly name: string; readonly rows: number };
  readonly validation?: { readonly rows: number } | null;
}

function timedRun(store: Store, job: Job): TimedRun | null {
  const { settings, dataset, validation } = (job.spec ?? {}) as StoredSpec;
  const { lastMetric: last } = job;
  if (last === null || settings === undefined || dataset?.rows === undefined) return null;
  return {
    name: jobName(job.id),
    strategy: job.strategy,
    provider: job.provider,
    settings,
    dataset: dataset.name,
    rows: dataset.rows,
    heldOutRows: validation?.rows ?? heldOutRows(dataset.rows, settings.eval_split),
    steps: last.step,
    trainSeconds: last.elapsed_seconds,
    tokens: last.tokens,
    ...around(store, job),
  };
}

/** How long the latest attempt prepared and exported, by the times at which its phases began. */
function around(store: Store, job: Job): Pick<TimedRun, 'prepareSeconds' | 'exportSeconds'> {
  const { startedAt, endedAt } = job;
  const none = { prepareSeconds: null, exportSeconds: null };
  if (startedAt === null) return none;
  const began = store.events.ofJob(job.id, 'status').filter(({ time }) => time >= startedAt);
  const at = (is: (phase: unknown) => boolean) => began.find(({ payload }) => is(payload.phase))?.time;
  const [trained, exported] = [at((phase) => phase === 'train'), at((phase) => exporting.includes(phase))];
  const between = (from: string | undefined, to: string | null | undefined) =>
    from === undefined || to == null ? null : Math.max(0, Date.parse(to) - Date.parse(from)) / 1000;
  return {
    prepareSeconds: between(startedAt, trained),
    exportSeconds: job.state === 'completed' ? between(exported, endedAt) : null,
  };
}
