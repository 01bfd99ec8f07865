import { html, nothing, type TemplateResult } from 'lit';
import { evaluationFigures } from '../../src/contract/evaluations.ts';
import type { EvaluationSummary } from '../api/types.ts';
import { formatNumber } from '../elements/format.ts';
import { nameText, progressBar, shortModelName, stateBadge } from '../elements/parts.ts';
import { phaseName } from '../state/runs/job-words.ts';

type FigureName = keyof typeof evaluationFigures;

/** The names of figures in the order in which they are shown. */
export const figureNames = Object.keys(evaluationFigures) as readonly FigureName[];

/** Whether a figure from 0 to 1 is customarily told in percent. */
export const isToldInPercent = (name: string): boolean => name.startsWith('rouge');

/** What a figure is called. */
export function figureLabel(name: string): string {
  const label = evaluationFigures[name as FigureName]?.label ?? name;
  return isToldInPercent(name) ? `${label} (%)` : label;
}

/** A figure's value as text. */
export const figureText = (name: string, value: number | null | undefined): string =>
  formatNumber(value != null && isToldInPercent(name) ? 100 * value : value, 3);

/** The position of the best of some values, or `null` if none is better than all others. */
export function bestOf(name: FigureName, values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => value != null);
  if (known.length < 2) return null;
  const best = evaluationFigures[name].better === 'small' ? Math.min(...known) : Math.max(...known);
  return known.filter((value) => value === best).length === 1 ? values.indexOf(best) : null;
}

/** Why the figures and rows of some evaluations cannot be compared, or `null`. */
export function whyIncomparable(found: readonly EvaluationSummary[]): string | null {
  const several = (of: (one: EvaluationSummary) => unknown) => new Set(found.map(of)).size > 1;
  const digests = found.map(({ rows_digest }) => rows_digest);
  if (found.length < 2 || (!digests.includes(null) && !several(({ rows_digest }) => rows_digest)))
    return null;
  const why = several(({ dataset }) => dataset)
    ? 'their datasets differ'
    : several(({ rows }) => rows)
      ? 'different numbers of rows were scored'
      : digests.includes(null)
        ? 'which rows were scored is not known of all'
        : `the rows of ${found[0]?.dataset} were changed in between`;
  return `These cannot be compared by their figures or row by row: ${why}.`;
}

/** What was scored; a folder of a base model by its last part. */
export const evaluationName = ({ name, base_model: base }: Pick<EvaluationSummary, 'name' | 'base_model'>) =>
  nameText(name.replace(base, () => shortModelName(base)));

/** The names of the figures that say most, besides the loss. */
const mainNames = ['win_rate', 'rougeL', 'f1', 'exact_match'] as const;

/** The figures that say most, besides the loss, the first one first. */
export const mainFigures = ({ figures }: EvaluationSummary) =>
  mainNames.flatMap((name) => {
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
