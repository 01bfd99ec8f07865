import type { MakingBody } from '../../../api/service.ts';

/** The kinds of rows with their words: of documents, and variants of rows of a dataset. */
export const kinds = {
  'question-answer': 'Questions and answers',
  summary: 'Summaries',
  extraction: 'Extracted fields',
  classification: 'Labels',
  paraphrase: 'Variants: other words',
  translation: 'Variants: another language',
  harder: 'Variants: harder',
  'wrong-answer': 'Variants: wrong answers, for preferences',
} as const;
export type Kind = keyof typeof kinds;
const variants: ReadonlySet<Kind> = new Set(['paraphrase', 'translation', 'harder', 'wrong-answer']);
export const isVariant = (kind: Kind): boolean => variants.has(kind);

/** What is typed into the form. */
export interface MakingDraft {
  readonly name: string;
  readonly kind: Kind;
  readonly model: string;
  readonly dataset: string;
  readonly maxRows: string;
  readonly share: string;
  readonly seed: string;
  /** Names with commas between them. */
  readonly fields: string;
  readonly labels: string;
  readonly language: string;
  readonly instructions: string;
  readonly grader: string;
  readonly bar: string;
}

export const emptyDraft: MakingDraft = {
  name: '',
  kind: 'question-answer',
  model: '',
  dataset: '',
  maxRows: '200',
  share: '',
  seed: '42',
  fields: '',
  labels: '',
  language: '',
  instructions: '',
  grader: '',
  bar: '',
};

const namesIn = (text: string) =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
const textOrNull = (text: string) => (text.trim() === '' ? null : text.trim());
const numberOrNull = (text: string) => (text.trim() === '' ? null : Number(text.replace(',', '.')));

/** What is missing before a request makes sense, or `null`. */
export function lack(draft: MakingDraft): string | null {
  const { kind } = draft;
  if (draft.name.trim() === '') return 'Give the dataset a name.';
  if (draft.model === '') return 'Choose a model.';
  if (isVariant(kind) && draft.dataset === '') return 'Choose the dataset whose rows are varied.';
  if (kind === 'extraction' && namesIn(draft.fields).length === 0) return 'Name the fields.';
  if (kind === 'classification' && namesIn(draft.labels).length < 2) return 'Name at least two labels.';
  if (kind === 'translation' && draft.language.trim() === '') return 'Name the language.';
  return [draft.maxRows, draft.share, draft.seed, draft.bar].some((text) =>
    Number.isNaN(numberOrNull(text) ?? 0),
  )
    ? 'A number is wanted.'
    : null;
}

/** The request; the service says what is wrong with it. */
export function bodyOf(draft: MakingDraft): MakingBody {
  const { kind } = draft;
  const isOfDataset = isVariant(kind);
  return {
    name: draft.name.trim(),
    kind,
    model: draft.model,
    dataset: isOfDataset ? draft.dataset : null,
    max_rows: numberOrNull(draft.maxRows) ?? undefined,
    validation_share: isOfDataset ? null : numberOrNull(draft.share),
    seed: numberOrNull(draft.seed) ?? undefined,
    fields: kind === 'extraction' ? namesIn(draft.fields) : null,
    labels: kind === 'classification' ? namesIn(draft.labels) : null,
    language: kind === 'translation' ? textOrNull(draft.language) : null,
    instructions: textOrNull(draft.instructions),
    grader: textOrNull(draft.grader),
    bar: draft.grader === '' ? null : numberOrNull(draft.bar),
  };
}
