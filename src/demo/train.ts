import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import type { LocalService } from '../client/local-service.ts';
import { type Phase, phases } from '../contract/jobs.ts';
import { startBar } from './bar.ts';
import type { Client, JobView, StepView } from './client.ts';

const pollMs = 1_000;
/** The service counts as gone after this many failed polls in a row. */
const mostFailedPolls = 5;
const atRest = new Set(['completed', 'failed', 'stopped', 'interrupted']);

/** The latest state of a job from the socket and polling. */
interface Seen {
  progress: number;
  phase: Phase | null;
  step: StepView | null;
  left: number | null;
}

function describe({ phase, step, left }: Seen): string {
  const words = phase === null ? 'starting' : phases[phase].label;
  const parts = [words.charAt(0).toLowerCase() + words.slice(1)];
  if (step !== null) {
    parts.push(`step ${step.step}/${step.total_steps}`);
    if (step.loss !== null) parts.push(`loss ${step.loss.toFixed(3)}`);
  }
  if (left !== null) parts.push(`about ${Math.ceil(left)} s left`);
  return parts.join(' · ');
}

/**
 * Starts a training and shows its progress from the socket and by polling, which continues if the socket fails.
 * @returns the completed job. @throws Error with the cause of a failure.
 */
export async function train(client: Client, request: Record<string, unknown>): Promise<JobView> {
  const started = await client.post<{ job_id: string }>('/api/finetune/start_training', request);
  const bar = startBar('Training');
  const seen: Seen = { progress: 0, phase: null, step: null, left: null };
  const show = () => bar.update(seen.progress / 100, describe(seen));
  const socket = follow(client.service, started.job_id, seen, show);
  let failedPolls = 0;
  try {
    while (true) {
      let job: JobView;
      try {
        job = await client.get<JobView>(`/api/jobs/${started.job_id}`);
        failedPolls = 0;
      } catch (error) {
        failedPolls += 1;
        if (failedPolls > mostFailedPolls) throw error;
        await sleep(pollMs);
        continue;
      }
      Object.assign(seen, { progress: job.progress, phase: job.phase, step: job.last_metric });
      seen.left = job.seconds_left;
      show();
      if (atRest.has(job.state)) {
        const loss = job.last_metric?.loss;
        bar.end(`${job.state}${typeof loss === 'number' ? `, final loss ${loss.toFixed(3)}` : ''}`);
        if (job.state === 'completed') return job;
        throw new Error([job.error?.message ?? job.message, job.error?.advice].filter(Boolean).join(' '));
      }
      await sleep(pollMs);
    }
  } finally {
    socket.terminate();
  }
}

/** Updates `seen` from `/ws/training`. Errors are ignored, since polling continues. */
function follow({ url, key }: LocalService, jobId: string, seen: Seen, show: () => void): WebSocket {
  const headers = { authorization: `Bearer ${key}` };
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws/training`, { headers });
  socket.on('error', () => undefined);
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data));
    if (frame.job_id !== jobId) return;
    if (frame.type === 'metrics' && frame.kind === 'train') seen.step = frame;
    if (typeof frame.progress === 'number') seen.progress = frame.progress;
    if (typeof frame.phase === 'string') seen.phase = frame.phase;
    show();
  });
  return socket;
}
