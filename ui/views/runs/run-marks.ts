import { html, nothing, type TemplateResult } from 'lit';
import { type Mark, type MarkKind, markNames } from '../../charts/marks.ts';
import { chartOptions } from '../../state/runs/chart-options.ts';
import type { Run } from '../../state/runs/run.ts';

/**
 * The steps of a run at which it was resumed or saved, and the best of its evaluations, on the chosen x axis.
 * @param of the run, where several are shown
 */
export function runMarks({ events, series }: Run, of?: Mark['run']): Mark[] {
  const steps: Record<'resume' | 'checkpoint', Set<number>> = { resume: new Set(), checkpoint: new Set() };
  let best: number | null = null;
  for (const event of events) {
    if (event.type !== 'log' || event.step === undefined) continue;
    const kind: string = event.kind;
    if (kind === 'resume') steps.resume.add(event.step);
    if (kind !== 'checkpoint') continue;
    steps.checkpoint.add(event.step);
    // The trainer judges by the metric of the task.
    if (event.best) best = event.step;
  }
  best ??= lowestLoss(series.evals);
  const { x } = chartOptions.value;
  const marks = (kind: MarkKind, found: Iterable<number>) =>
    [...found].map((step): Mark => ({ kind, at: series.placeOf({ step }, x), run: of }));
  return [
    ...marks('checkpoint', steps.checkpoint),
    ...marks('resume', steps.resume),
    ...marks('best', best === null ? [] : [best]),
  ];
}

/** The step of the evaluation with the lowest loss; that of the base model, at step 0, is not of the run. */
function lowestLoss(evaluations: Run['series']['evals']): number | null {
  let lowest: { readonly step: number; readonly loss: number } | null = null;
  for (const { step, metrics } of evaluations) {
    const loss = metrics?.eval_loss;
    if (step > 0 && loss != null && (lowest === null || loss < lowest.loss)) lowest = { step, loss };
  }
  return lowest?.step ?? null;
}

/** What the marks mean. */
export function markLegend(marks: readonly Mark[]): TemplateResult | typeof nothing {
  const kinds = [...new Set(marks.map(({ kind }) => kind))];
  if (kinds.length === 0) return nothing;
  const isOfRuns = marks.some(({ run }) => run !== undefined);
  return html`<ul class="mark-legend ${isOfRuns ? 'of-runs' : ''}" aria-label="Marks in the charts">
    ${kinds.map((kind) => html`<li><i class="mark" data-mark=${kind}></i>${markNames[kind]}</li>`)}
  </ul>`;
}
