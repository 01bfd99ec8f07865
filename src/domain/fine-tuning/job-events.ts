import { basename } from 'node:path';
import { type JobState, type Phase, phases } from '../../contract/jobs.ts';
import type { EventRow, EventStore } from '../../db/tables/events.ts';
import type { Job } from '../job-record/job.ts';
import { errorOf } from '../job-record/job.ts';
import { type StepFigures, stepFigures } from './step-figures.ts';

/** What happened to a job, in words or figures. */
export interface JobEvent {
  /** The number of its frame; larger ones are later. */
  readonly seq: number;
  /** ISO 8601. */
  readonly time: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly type: 'message' | 'metrics';
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The frames that are told. */
const told = ['status', 'log', 'export', 'model', 'metrics'] as const;

/** The last `limit` events of a job before `before` (`null`: of all), newest first, and whether there are more. */
export function readJobEvents(
  store: EventStore,
  job: Job,
  before: number | null,
  limit: number,
): { readonly events: JobEvent[]; readonly hasMore: boolean } {
  const from = before ?? Number.MAX_SAFE_INTEGER;
  const rows = told
    .flatMap((type) => store.before(job.id, type, from, limit + 1))
    .sort((a, b) => b.seq - a.seq);
  return { events: rows.slice(0, limit).map((row) => toEvent(row, job)), hasMore: rows.length > limit };
}

function toEvent({ seq, time, type, payload }: EventRow, job: Job): JobEvent {
  const event = (message: string, level: JobEvent['level'] = 'info'): JobEvent => ({
    seq,
    time,
    level,
    message,
    type: 'message',
    data: {},
  });
  switch (type) {
    case 'status':
      return statusEvent(payload, job, event);
    case 'metrics':
      // The base model's figures are not those of a step.
      return payload.step === 0
        ? event(`Base model: ${validation(stepFigures(payload))}`)
        : { ...event(''), type: 'metrics', ...metricsOf(payload) };
    case 'export':
      return event(`Wrote ${basename(String(payload.path ?? payload.file ?? 'a file'))}`);
    case 'model':
      return event(`New fine-tuned model created: ${String(payload.name)}`);
    default: {
      if (payload.kind !== 'sample')
        return event(String(payload.message), payload.level === 'warning' ? 'warn' : 'info');
      const { step, prompt, text, file } = payload;
      const of = file === undefined ? `at step ${step}` : `of the ${file} file`;
      return { ...event(`Sample answer ${of}`), data: { step, prompt, text } };
    }
  }
}

function statusEvent(
  payload: EventRow['payload'],
  job: Job,
  event: (message: string, level?: JobEvent['level']) => JobEvent,
): JobEvent {
  const state = payload.state as JobState;
  switch (state) {
    case 'queued':
      return event('Fine-tuning job is waiting in the queue');
    case 'starting':
      return event('Fine-tuning job started');
    case 'running': {
      const label = phases[payload.phase as Phase]?.label;
      return event(label === undefined ? 'The trainer is running' : label);
    }
    case 'stopping':
      return event('Stopping: a checkpoint is being saved');
    case 'stopped':
      return event('The job was stopped');
    case 'completed':
      return event('The job has successfully completed');
    default:
      return event(errorOf(job) ?? 'The job has failed', 'error');
  }
}

function metricsOf(payload: EventRow['payload']): Pick<JobEvent, 'message' | 'data'> {
  const { kind, step, total_steps: total } = payload;
  const figures = stepFigures(payload);
  return kind === 'train'
    ? {
        message: `Step ${step}/${total}: training loss=${shown(figures.train_loss)}${rewarded('train', figures.train_mean_reward)}`,
        data: { step, total_steps: total, ...figures },
      }
    : {
        message: `Step ${step}: ${validation(figures)}`,
        data: { step, ...figures },
      };
}

const validation = ({ valid_loss: loss, valid_mean_reward: reward }: StepFigures) =>
  `validation loss=${shown(loss)}${rewarded('validation', reward)}`;
/** The mean reward, of jobs that have one. */
const rewarded = (of: string, reward: number | undefined) =>
  reward === undefined ? '' : `, ${of} mean reward=${shown(reward)}`;
const shown = (value: number | undefined) => value?.toFixed(4) ?? 'unknown';
