import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { unfinishedStates } from '../../contract/jobs.ts';
import type { Store } from '../../db/store.ts';
import { postWebhook, type WebhookTarget } from '../../webhook/post-webhook.ts';
import type { Frame, FrameLog } from '../events/frame-log.ts';
import { displayNameOf, exportOf, type Job, jobName } from '../job-record/job.ts';

/** Attempts of one message, the first included. */
const attempts = 5;
/** Each wait is so many times the one before. */
const growth = 5;

/** Tells another program of runs that end. */
export interface EndWebhook {
  /** Takes every published frame; returns at once and never throws. */
  take(frame: Frame): void;
  /** Gives up what has not been received. */
  close(): void;
}

export interface EndWebhookOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  /** `null` tells nobody. */
  readonly target: WebhookTarget | null;
  readonly timeoutMs: number;
  /** The wait before the second attempt. */
  readonly backoffMs: number;
  readonly logger: { warn(fields: object, text: string): void };
}

export function createEndWebhook(options: EndWebhookOptions): EndWebhook {
  const { store, frames, target, timeoutMs, logger } = options;
  const closing = new AbortController();
  const { signal } = closing;

  async function tell(url: WebhookTarget, job: Job): Promise<void> {
    const message = { id: `msg_${randomUUID()}`, body: JSON.stringify(messageOf(job)) };
    // The address may contain a secret.
    const { host } = new URL(url.url);
    let waitMs = options.backoffMs;
    for (let attempt = 1; ; attempt += 1) {
      const receipt = await postWebhook(url, message, { signal, timeoutMs });
      if (receipt.received || signal.aborted) return;
      const { why } = receipt;
      logger.warn({ job: jobName(job.id), host, attempt, why }, 'A webhook was not received');
      if (!receipt.passing || attempt === attempts) {
        const times = attempt === 1 ? '' : ` in ${attempt} attempts`;
        note(job.id, `The webhook at ${host} was not told of the end of this run${times}: ${why}.`);
        return;
      }
      await sleep(waitMs, undefined, { signal });
      waitMs *= growth;
    }
  }

  /** Adds a warning to the events of a run. */
  const note = (id: number, message: string) =>
    frames.commit((emit) =>
      emit('log', id, { level: 'warning', kind: 'warning', code: 'webhook_failed', message }),
    );

  return {
    take(frame) {
      if (target === null || frame.type !== 'status' || frame.discarded) return;
      const id = Number(/^train_(\d+)$/.exec(frame.job_id ?? '')?.[1]);
      const job = Number.isNaN(id) ? null : (store.jobs.get(id) as Job | null);
      if (job === null || unfinishedStates.includes(job.state)) return;
      tell(target, job).catch((error) => {
        if (signal.aborted) return;
        // It was deleted in the meantime.
        logger.warn({ job: frame.job_id, error: (error as Error).message }, 'A webhook was given up');
      });
    },
    close: () => closing.abort(),
  };
}

/** What is sent when a job has ended. */
function messageOf(job: Job): Record<string, unknown> {
  const { state, errorCode, errorMessage, errorAdvice } = job;
  return {
    type: `run.${state}`,
    timestamp: job.endedAt ?? new Date().toISOString(),
    data: {
      job_id: jobName(job.id),
      display_name: displayNameOf(job),
      state,
      task: job.task,
      model_name: job.modelName,
      dataset: job.datasetName,
      created_at: job.createdAt,
      started_at: job.startedAt,
      ended_at: job.endedAt,
      model_id: state === 'completed' ? job.modelId : null,
      metrics: job.resultMetrics,
      export: exportOf(job),
      error: errorMessage === null ? null : { code: errorCode, message: errorMessage, advice: errorAdvice },
    },
  };
}
