import { html, nothing, type TemplateResult } from 'lit';
import { figureLabel, isOfGrader, isToldInPercent } from '../../src/contract/evaluations.ts';
import type { EvaluationSummary } from '../api/types.ts';
import { formatNumber } from '../elements/format.ts';
import { nameText, progressBar, shortModelName, stateBadge } from '../elements/parts.ts';
import { phaseName } from '../state/runs/job-words.ts';

/** A figure's value as text. */
export const figureText = (name: string, value: number | null | undefined): string =>
  formatNumber(value != null && isToldInPercent(name) ? 100 * value : value, 3);

/** What was scored; a folder of a base model by its last part. */
export const evaluationName = ({ name, base_model: base }: Pick<EvaluationSummary, 'name' | 'base_model'>) =>
  nameText(name.replace(base, () => shortModelName(base)));

/** The names of the figures that say most, besides the loss. */
const mainNames = ['win_rate', 'right_arguments', 'right_tool', 'rougeL', 'f1', 'exact_match'] as const;

/** The figures that say most, besides the loss, the first one first. */
export const mainFigures = ({ figures }: EvaluationSummary) =>
  [...Object.keys(figures ?? {}).filter(isOfGrader), ...mainNames].flatMap((name) => {
    const value = figures?.[name];
    return value == null ? [] : [{ value, text: `${figureLabel(name)} ${figureText(name, value)}` }];
  });

/** The state of an evaluation, with its progress while it runs. */
export function evaluationState(evaluation: EvaluationSummary): TemplateResult {
  const { evaluation_id: id, state, progress, phase } = evaluation;
  if (state !== 'running') return stateBadge(state);
  return html`${stateBadge(state)}
    ${progressBar(`Progress of ${id}`, progress === null ? null : 100 * progress)}
    ${phase === null ? nothing : html`<small class="muted">${phaseName(phase)}</small>`}`;
}
