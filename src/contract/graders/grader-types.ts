/** The types of graders: OpenAI's under its names, then Hone's own (docs/graders.md). */
export const graderTypes = [
  'string_check',
  'text_similarity',
  'python',
  'score_model',
  'label_model',
  'multi',
  'hone_json_schema',
  'hone_json_equal',
  'hone_number',
  'hone_math',
  'hone_regex',
  'hone_length',
  'hone_contains',
] as const;
export type GraderType = (typeof graderTypes)[number];

/** The types that ask a model. */
export const judgeTypes = ['score_model', 'label_model'] as const satisfies readonly GraderType[];
export const isJudge = ({ type }: { readonly type: GraderType }): boolean =>
  judgeTypes.some((one) => one === type);

/** How `string_check` compares. */
export const stringOperations = ['eq', 'ne', 'like', 'ilike'] as const;

/** The figures of `text_similarity`. */
export const similarityMetrics = [
  'fuzzy_match',
  'bleu',
  'gleu',
  'meteor',
  'cosine',
  'rouge_1',
  'rouge_2',
  'rouge_3',
  'rouge_4',
  'rouge_5',
  'rouge_l',
] as const;

/** What `hone_length` counts. */
export const lengthUnits = ['characters', 'words'] as const;

/** The text that a grader looks at unless it says otherwise. */
export const answerTemplate = '{{sample.output_text}}';

/** The names of stored graders. */
export const graderName = /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,63}$/u;
export const graderNameRule =
  'must have 1 to 64 letters, digits, spaces, dots, underscores and hyphens, a letter or digit first';

/** At most so many graders score an evaluation, and so many rows are tested or judged in pairs at once; usual pairs. */
export const graderBounds = { ofEvaluation: 16, testedRows: 100, usualPairs: 20 } as const;

/** The figure of an evaluation that a grader gives: its mean over the rows. */
export const graderFigure = (name: string): string => `grader:${name}`;

/** The grader whose figure a metric is; `null` if it is none. */
export const graderOf = (metric: string): string | null =>
  metric.startsWith(graderFigure('')) ? metric.slice(graderFigure('').length) : null;

/** A metric of an evaluation while a run trains. Where a grader is the reward, its figure is the mean of that. */
export const metricIn = (
  metrics: Readonly<Record<string, number | null>>,
  metric: string,
): number | null | undefined => metrics[metric] ?? metrics[`rewards/${graderOf(metric)}/mean`];
