import { isOfGrader, isToldInPercent } from '../../../../src/contract/evaluations.ts';
import { lossText } from '../../../../src/contract/training/loss-text.ts';
import { metricName } from '../../../../src/contract/training/metric-names.ts';
import type { JobDetail, Verdict } from '../../../api/types.ts';
import { formatDuration, formatNumber } from '../../../elements/format.ts';
import { metricText } from '../run-charts.ts';
import { passedText } from './verdict-prompt.ts';

type Pair = NonNullable<Verdict['loss']>;

/** The figures in a line: "Evaluation loss 2.31 → 0.42 · ROUGE-L 18 → 47 · 20 s". */
export function verdictSentence(
  job: JobDetail,
  { loss, metric, prompts, duration_seconds: seconds }: Verdict,
): string {
  const final = job.metrics?.final_loss;
  const told = [
    loss === null ? null : `Evaluation loss ${change(loss, lossText)}`,
    metric === null
      ? null
      : `${metricName(metric.name)} ${change(metric, (value) => shortText(metric.name, value))}`,
  ];
  const parts = [
    // The user's own measure comes first.
    ...(metric !== null && isOfGrader(metric.name) ? told.reverse() : told),
    passedText(prompts) || null,
    loss === null && metric === null && final != null ? `Final loss ${lossText(final)}` : null,
    seconds === null ? null : formatDuration(seconds),
  ];
  return parts.filter((part) => part !== null).join(' · ');
}

/** A figure before and after; only after if it was not measured before. With that of the model that was trained on. */
const change = ({ base, tuned, parent }: Pair, text: (value: number) => string) => {
  const changed = base === null ? text(tuned) : `${text(base)} → ${text(tuned)}`;
  return parent === undefined ? changed : `${changed} (parent ${text(parent)})`;
};

function shortText(name: string, value: number): string {
  if (isToldInPercent(name)) return formatNumber(100 * value, 3);
  return name.includes('/') ? metricText(name, value) : formatNumber(value, 3);
}
