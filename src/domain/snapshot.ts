import type { Frame } from './events/frame-log.ts';
import {
  errorOf,
  expectedEndOf,
  type Job,
  jobName,
  lastPointOf,
  messageOf,
  progressOf,
} from './job-record/job.ts';
import type { Services } from './services.ts';

/** How many of the newest points a snapshot carries; the whole series is at `/api/jobs/{job_id}/metrics`. */
const recentPoints = 200;

/** What a socket is told first: the present state, then the stored frames after `since`. */
export function* greet(services: Pick<Services, 'jobs' | 'frames'>, since: number | null): Generator<string> {
  yield JSON.stringify(snapshot(services));
  if (since === null) return;
  for (const { text } of replay(services, since)) yield text;
}

/** The stored frames after `since` as a socket is told them, including those stored during iteration. */
export function* replay(
  { frames }: Pick<Services, 'frames'>,
  since: number,
): Generator<{ readonly seq: number; readonly text: string }> {
  for (const frame of frames.replay(since)) yield { seq: frame.seq, text: JSON.stringify(frame) };
}

function snapshot({ jobs, frames }: Pick<Services, 'jobs' | 'frames'>): Frame {
  const job = jobs.current();
  const time = new Date().toISOString();
  const seq = frames.newestSeq();
  if (job === null) return { type: 'snapshot', seq, time, state: 'idle', job: null, metrics: [] };
  return {
    type: 'snapshot',
    seq,
    time,
    job_id: jobName(job.id),
    state: job.state,
    job: presentJob(job),
    metrics: jobs.recent(job.id, recentPoints),
  };
}

function presentJob(job: Job) {
  return {
    state: job.state,
    progress: progressOf(job),
    message: messageOf(job),
    error: errorOf(job),
    phase: job.phase,
    phase_progress: job.phaseProgress,
    detail: job.phaseDetail,
    expected_end: expectedEndOf(job),
    started_at: job.startedAt,
    last_metric: lastPointOf(job),
  };
}
