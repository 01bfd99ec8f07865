import { metricIn } from '../../contract/graders/grader-types.ts';
import { totalSteps } from '../../contract/training/steps.ts';
import { AppError } from '../../errors.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';
import { propose } from '../../trainer/propose.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { JudgedRequest } from '../training/judge-request.ts';
import type { TrainingRequest } from '../training/training-request.ts';
import { evaluationsForCulling } from './halving.ts';
import { loses, nextStep } from './next-step.ts';
import { questionOf } from './proposal-question.ts';
import { requestWith, type Sweep } from './sweep.ts';
import type { SweepRecords } from './sweep-records.ts';
import type { Trials } from './trials.ts';

/** What a running sweep does as its trials run. */
export interface SweepProgress {
  /** Starts the next trials as far as there is room for them, or ends the sweep. */
  advance(id: number): Promise<void>;
  /** Compares a trial that was evaluated with the others, and stops it if they are better. */
  consider(id: number, jobId: number): void;
}

export interface SweepProgressOptions {
  readonly jobs: Jobs;
  readonly judge: (request: TrainingRequest) => Promise<JudgedRequest>;
  readonly command: TrainerCommand;
  /** The most trials at once. */
  readonly parallel: number;
}

export function createSweepProgress(
  options: SweepProgressOptions,
  { get, isRunning, publish, end }: SweepRecords,
  trials: Trials,
  closing: AbortSignal,
): SweepProgress {
  async function advance(id: number): Promise<void> {
    while (!closing.aborted && isRunning(id)) {
      for (const trial of get(id).trialsDone) await trials.mend(trial);
      const step = nextStep(get(id), options.parallel);
      if (step.kind === 'fail') throw new AppError('invalid', step.error);
      if (step.kind === 'complete') end(id, 'completed');
      // The end of any job is the time to try again.
      if (step.kind !== 'start' || !(await startTrial(id))) return;
    }
  }

  /** @returns false if the queue is full. */
  async function startTrial(id: number): Promise<boolean> {
    const sweep = get(id);
    const parameters = await propose(options.command, questionOf(sweep), closing);
    const request = await withEvaluations(sweep, requestWith(sweep, parameters));
    const hasStarted = await trials.start(sweep, parameters, request, () => isRunning(id));
    if (hasStarted) publish(id);
    return hasStarted;
  }

  /** With culling, a request that names no interval is evaluated often enough to be compared early. */
  async function withEvaluations(sweep: Sweep, request: TrainingRequest): Promise<TrainingRequest> {
    if (!sweep.culling || request.eval_steps != null) return request;
    const { settings: used, strategy, data } = await options.judge(request);
    const steps = totalSteps(used, strategy, data.numExamples);
    return { ...request, eval_steps: Math.max(1, Math.floor(steps / evaluationsForCulling)) };
  }

  function consider(id: number, jobId: number): void {
    const sweep = get(id);
    const own = sweep.trialsDone.find(({ row }) => row.jobId === jobId);
    if (own?.job == null) return;
    const { metrics = {} } = (options.jobs.series(jobId, 1).eval.at(-1) ?? {}) as {
      metrics?: Readonly<Record<string, number | null>>;
    };
    const names = Object.keys(metrics);
    if (metricIn(metrics, sweep.metric) === undefined) {
      throw new AppError(
        'invalid',
        `Trial ${own.number} reports no metric ${sweep.metric}. It has ${names.join(', ')}; name one of them as metric.`,
      );
    }
    if (loses(sweep, own)) trials.cull(jobId);
  }

  return { advance, consider };
}
