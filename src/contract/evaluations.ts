import { graderOf } from './graders/grader-types.ts';

/** The states of an evaluation. */
export const evaluationStates = ['queued', 'running', 'completed', 'failed'] as const;
export type EvaluationState = (typeof evaluationStates)[number];

/** How many rows are scored, unless a request says so, and the most. */
export const scoredRows = { usual: 200, most: 10_000 } as const;
/** The first rows of an evaluation, whose answers are kept. */
export const keptRows = 200;

/** The figures of evaluations: what each is called, and whether it is better small or large. */
export const evaluationFigures = {
  loss: { label: 'Loss', better: 'small' },
  perplexity: { label: 'Perplexity', better: 'small' },
  exact_match: { label: 'Exact match (%)', better: 'large' },
  f1: { label: 'F1 (%)', better: 'large' },
  rouge1: { label: 'ROUGE-1', better: 'large' },
  rouge2: { label: 'ROUGE-2', better: 'large' },
  rougeL: { label: 'ROUGE-L', better: 'large' },
  right_tool: { label: 'Right tool (%)', better: 'large' },
  right_arguments: { label: 'Right arguments (%)', better: 'large' },
  win_rate: { label: 'Win rate (%)', better: 'large' },
  win_rate_per_token: { label: 'Win rate per token (%)', better: 'large' },
} as const satisfies Record<string, { readonly label: string; readonly better: 'small' | 'large' }>;

export type FigureName = keyof typeof evaluationFigures;
/** The names of figures in the order in which they are shown. */
export const figureNames = Object.keys(evaluationFigures) as readonly FigureName[];

/** Whether a figure from 0 to 1 is customarily told in percent. */
export const isToldInPercent = (name: string): boolean => name.startsWith('rouge');

/** The names of the figures that some evaluations have, in the order in which they are shown: those of graders first. */
export function namesOfFigures(
  found: readonly { readonly figures: Readonly<Record<string, number | null>> | null }[],
): string[] {
  const has = (name: string) => found.some(({ figures }) => figures?.[name] != null);
  const ofGraders = found.flatMap(({ figures }) => Object.keys(figures ?? {}).filter(isOfGrader));
  return [...new Set(ofGraders)].concat(figureNames).filter(has);
}

/** Whether a figure is the mean of a grader's scores. */
export const isOfGrader = (name: string): boolean => graderOf(name) !== null;

/** The scores by graders among metrics, by the graders' names, the first one first. */
export const scoresOf = (metrics: Readonly<Record<string, unknown>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(metrics).flatMap(([name, value]) => {
      const grader = graderOf(name);
      return grader !== null && typeof value === 'number' ? [[grader, value]] : [];
    }),
  );

/** What a figure is called. */
export function figureLabel(name: string): string {
  const grader = graderOf(name);
  if (grader !== null) return `${grader} (grader)`;
  const label = evaluationFigures[name as FigureName]?.label ?? name;
  return isToldInPercent(name) ? `${label} (%)` : label;
}

/** The position of the best of some values, or `null` if none is better than all others. */
export function bestOf(name: string, values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => value != null);
  if (known.length < 2) return null;
  const best =
    evaluationFigures[name as FigureName]?.better === 'small' ? Math.min(...known) : Math.max(...known);
  return known.filter((value) => value === best).length === 1 ? values.indexOf(best) : null;
}
