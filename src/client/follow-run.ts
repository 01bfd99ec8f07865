import { setTimeout as sleep } from 'node:timers/promises';
import { type Phase, phases } from '../contract/jobs.ts';
import type { Bar } from './bar.ts';
import { type Client, Refusal } from './http-client.ts';

/** The fields of a job that are shown. */
export interface JobView {
  readonly job_id: string;
  readonly state: string;
  readonly model_id: string;
  readonly phase: Phase | null;
  /** In percent. */
  readonly progress: number;
  readonly message: string;
  /** Until its end, with the export. */
  readonly seconds_left: number | null;
  readonly last_metric: {
    readonly step: number;
    readonly total_steps: number;
    readonly loss: number | null;
  } | null;
  readonly error: { readonly message: string | null; readonly advice: string | null } | null;
  readonly verdict: { readonly judgement: { readonly sentence: string } } | null;
}

const pollMs = 500;
/** The service counts as gone after this many failed polls in a row. */
const mostFailedPolls = 10;
const atRest = new Set(['completed', 'failed', 'stopped', 'interrupted']);

export const isAtRest = ({ state }: { readonly state: string }): boolean => atRest.has(state);

function describe({ state, phase, last_metric: step, seconds_left: left }: JobView): string {
  const words = phase === null ? state : phases[phase].label;
  const parts = [words.charAt(0).toLowerCase() + words.slice(1)];
  if (step !== null) {
    parts.push(`step ${step.step}/${step.total_steps}`);
    if (step.loss !== null) parts.push(`loss ${step.loss.toFixed(3)}`);
  }
  if (left !== null) parts.push(`about ${Math.ceil(left)} s left`);
  return parts.join(' · ');
}

/** Why a run has failed, and what to do. */
export const failureOf = ({ error, message }: JobView): string =>
  [error?.message ?? message, error?.advice].filter(Boolean).join(' ');

/** Asks for something until `isDone`, and goes on when the service does not respond for a few seconds. */
export async function poll<T>(ask: () => Promise<T>, isDone: (value: T) => boolean): Promise<T> {
  let failedPolls = 0;
  for (;;) {
    try {
      const value = await ask();
      if (isDone(value)) return value;
      failedPolls = 0;
    } catch (error) {
      failedPolls += 1;
      if (error instanceof Refusal || failedPolls > mostFailedPolls) throw error;
    }
    await sleep(pollMs);
  }
}

/** Shows the progress of a run until its end. @returns the job, whatever became of it. */
export async function followRun(client: Client, jobId: string, bar: Bar): Promise<JobView> {
  const job = await poll(
    () => client.get<JobView>(`/api/jobs/${jobId}`),
    (now) => {
      bar.update(now.progress / 100, describe(now));
      return isAtRest(now);
    },
  );
  const loss = job.last_metric?.loss;
  bar.end(`${job.state}${typeof loss === 'number' ? `, final loss ${loss.toFixed(3)}` : ''}`);
  return job;
}
