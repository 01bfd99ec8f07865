import type { JobState } from '../../contract/jobs.ts';
import { jobName } from '../job-record/job.ts';

/** Why a training with so many `workers` would have to wait for the unfinished `others`; `null` if it starts at once. */
export function whyItWaits(
  others: readonly { readonly id: number; readonly state: JobState }[],
  { parallel, count }: { readonly parallel: number; readonly count: number },
  workers: number,
  hasRoom: () => boolean,
): string | null {
  const [first] = others;
  const atOnce = Math.min(parallel, count);
  if (first === undefined || (others.length < atOnce && hasRoom())) return null;
  const named = ({ id, state }: (typeof others)[number]) => `${jobName(id)}, ${state}`;
  if (atOnce === 1) {
    // Those that wait for it are not in the way.
    const running = others.find(({ state }) => state !== 'queued') ?? first;
    return `A training is already in progress (${named(running)}). Stop it first, or wait until it has ended.`;
  }
  const underway = others.length === 1 ? 'A training is' : `${others.length} trainings are`;
  const reason =
    others.length < atOnce
      ? `too few devices are left for a training with ${workers} ${workers === 1 ? 'worker' : 'workers'}`
      : `${atOnce} run at once`;
  return `${underway} already in progress (${others.map(named).join('; ')}), and ${reason}. Stop one first, wait until one has ended, or set "queue" to true.`;
}
