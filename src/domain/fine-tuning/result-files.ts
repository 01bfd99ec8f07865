import type { Store } from '../../db/store.ts';
import type { FineTuningResultRow } from '../../db/tables/fine-tuning.ts';
import { type Point, readSeries } from '../events/series.ts';
import type { Job } from '../job-record/job.ts';
import type { FineTuningFile } from './fine-tuning-file.ts';
import { type StepFigures, stepFigures } from './step-figures.ts';

/** The name of every result file, as OpenAI's. */
export const resultsFilename = 'step_metrics.csv';
/** Its columns, each with the figure that it has: those of every job, and further ones where answers are rewarded. */
const columns: Readonly<Record<string, keyof StepFigures>> = {
  train_loss: 'train_loss',
  train_accuracy: 'train_mean_token_accuracy',
  valid_loss: 'valid_loss',
  valid_mean_token_accuracy: 'valid_mean_token_accuracy',
};
const rewardColumns: typeof columns = {
  train_mean_reward: 'train_mean_reward',
  valid_mean_reward: 'valid_mean_reward',
  full_valid_mean_reward: 'full_valid_mean_reward',
  completion_tokens_mean: 'completion_tokens_mean',
};

/** The curves of completed jobs as CSV files. */
export interface ResultFiles {
  /** The ID of a completed job's file, which is written the first time; `null` once it was deleted. */
  of(job: Job): string | null;
  list(): FineTuningFile[];
  get(id: string): FineTuningFile | null;
  content(id: string): string | null;
  /** @returns whether there was one. */
  remove(id: string): boolean;
}

const idOf = (jobId: number) => `file-results-${jobId}`;

export function createResultFiles(store: Pick<Store, 'events' | 'fineTuning' | 'jobs'>): ResultFiles {
  const { fineTuning } = store;

  function read(id: string): (FineTuningResultRow & { content: string }) | null {
    const number = /^file-results-(\d{1,15})$/.exec(id)?.[1];
    const row = number === undefined ? null : fineTuning.getResult(Number(number));
    return row === null || row.content === null || store.jobs.get(row.jobId) === null
      ? null
      : { ...row, content: row.content };
  }

  const present = ({ jobId, createdAt, content }: FineTuningResultRow): FineTuningFile => ({
    id: idOf(jobId),
    filename: resultsFilename,
    purpose: 'fine-tune-results',
    bytes: Buffer.byteLength(content ?? ''),
    createdAt,
    expiresAt: null,
    fault: null,
  });

  return {
    of(job) {
      let row = fineTuning.getResult(job.id);
      if (row === null) {
        const { train, eval: evaluations } = readSeries(store.events, job.id, 0);
        row = {
          jobId: job.id,
          createdAt: job.endedAt ?? new Date().toISOString(),
          content: toCsv(train, evaluations),
        };
        try {
          fineTuning.putResult(row);
        } catch {
          // A full disk: it is written once there is room.
          return null;
        }
      }
      return row.content === null ? null : idOf(job.id);
    },
    list: () =>
      fineTuning
        .results()
        .filter(({ content }) => content !== null)
        .map(present),
    get(id) {
      const row = read(id);
      return row === null ? null : present(row);
    },
    content: (id) => read(id)?.content ?? null,
    remove(id) {
      const row = read(id);
      if (row === null) return false;
      fineTuning.putResult({ ...row, content: null });
      return true;
    },
  };
}

/** One line per step with figures of either part; those that were not measured are empty. The base model has no line. */
function toCsv(train: readonly Point[], evaluations: readonly Point[]): string {
  const steps = new Map<number, StepFigures>();
  for (const [kind, points] of [['train', train] as const, ['eval', evaluations] as const]) {
    for (const point of points)
      steps.set(point.step, { ...steps.get(point.step), ...stepFigures({ ...point, kind }) });
  }
  steps.delete(0);
  const isRewarded = [...steps.values()].some((figures) => figures.train_mean_reward !== undefined);
  const told = { ...columns, ...(isRewarded ? rewardColumns : {}) };
  const lines = [...steps]
    .sort(([a], [b]) => a - b)
    .map(([step, figures]) => [step, ...Object.values(told).map((name) => figures[name])].join(','));
  return `${[['step', ...Object.keys(told)].join(','), ...lines].join('\n')}\n`;
}
