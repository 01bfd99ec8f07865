import type { Description } from '../../trainer/protocol.ts';

/** What TRL's trainers report in evaluations beside the metrics of the task. */
const ofTheLibrary = ['mean_token_accuracy', 'entropy'];

/**
 * Why the evaluations of a task and strategy cannot report a metric; `null` if they may: those of preferences are known
 * when they report.
 */
export function metricFault(
  { tasks, strategies }: Pick<Description, 'tasks' | 'strategies'>,
  metric: string,
  task: string | undefined,
  strategy: string,
): string | null {
  const own = tasks.find(({ name }) => name === task)?.metrics;
  const found = strategies.find(({ name }) => name === strategy);
  if (own === undefined || found === undefined) return null;
  const all = [...own, ...ofTheLibrary];
  if (all.includes(metric)) return null;
  const isKnown = found.row_shape === null || tasks.some(({ metrics }) => metrics.includes(metric));
  return isKnown ? `metric is ${metric}, which ${task} does not report. It has ${all.join(', ')}` : null;
}
