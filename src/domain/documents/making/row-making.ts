import type { Passage } from '../passages.ts';

export const makingStates = ['queued', 'running', 'completed', 'stopped', 'failed'] as const;
export type MakingState = (typeof makingStates)[number];

/** Into which dataset a row goes. */
export const rowParts = ['training', 'validation'] as const;
export type RowPart = (typeof rowParts)[number];

/** What a model is asked about. */
export type RowSource = { readonly part: RowPart } & (
  | { readonly kind: 'passage'; readonly passage: Passage }
  /** A row of which variants are made. */
  | { readonly kind: 'row'; readonly row: SourceColumns }
);
/** A row with a question or text and its answer, and what else it has. */
export interface SourceColumns extends Readonly<Record<string, unknown>> {
  readonly input: string;
  readonly output: string;
}

/** Why an answer makes no row, as what follows their number. */
export const uselessAnswers = {
  refused: 'refused',
  cut_off: 'cut off',
  malformed: 'of another shape than was asked for',
  rejected: 'asked for in vain',
} as const;
export type UselessAnswer = keyof typeof uselessAnswers;

/** Why a row is dropped, as what follows their number. */
export const dropReasons = {
  quotation: 'with a quotation that does not stand in its passage',
  near_duplicate: 'nearly the same as another',
  ungraded: 'that could not be graded',
  below_bar: 'below the bar',
  beyond_limit: 'beyond the most rows',
} as const;
export type DropReason = keyof typeof dropReasons;

/** How rows are made. */
export interface MakingRequest {
  /** The name of the datasets, before `.jsonl` and `-validation.jsonl`. */
  readonly name: string;
  readonly kind: string;
  /** As requests to `/v1` name it. */
  readonly model: string;
  /** Their IDs. */
  readonly documents: readonly string[];
  /** Of whose rows variants are made. */
  readonly dataset: string | null;
  readonly maxRows: number;
  readonly rowsPerPassage: number;
  readonly passageCharacters: number;
  /** Of the passages; their documents are in no other part. */
  readonly validationShare: number;
  readonly seed: number;
  readonly temperature: number;
  /** Of an answer. */
  readonly maxTokens: number;
  readonly instructions: string | null;
  /** Of an extraction. */
  readonly fields: readonly string[];
  /** Of a classification. */
  readonly labels: readonly string[];
  /** Of a translation. */
  readonly language: string | null;
  /** The name of a stored one. */
  readonly grader: string | null;
  /** Rows with a lower score are dropped. */
  readonly bar: number | null;
}

/** What was made of an answer, as it is stored. */
export interface StoredAnswer {
  readonly useless: UselessAnswer | null;
  readonly rows: readonly (Readonly<Record<string, unknown>> & { readonly quotation?: string })[];
}

/** A dataset that is made by asking a model about passages of documents, or rows of another dataset. */
export interface RowMaking {
  readonly state: MakingState;
  readonly request: MakingRequest;
  readonly createdAt: string;
  readonly endedAt: string | null;
  /** Why it failed. */
  readonly error: string | null;
  /** What the service of the model said last of a request that it did not accept. */
  readonly lastProblem: string | null;
  /** How many passages or rows there are to ask about. */
  readonly sources: number;
  readonly nearDuplicateSources: number;
  /** The documents of each part. */
  readonly files: Readonly<Record<RowPart, readonly string[]>>;
  readonly answered: number;
  readonly useless: Readonly<Record<UselessAnswer, number>>;
  readonly rows: Readonly<Record<RowPart, number>>;
  readonly dropped: Readonly<Record<DropReason, number>>;
  /** Of questions, answers and judges. They are estimated where a service does not tell them. */
  readonly tokens: { readonly prompt: number; readonly answer: number; readonly grading: number };
  readonly datasets: Readonly<Record<RowPart, WrittenDataset | null>>;
}

/** A dataset as it was written. */
export interface WrittenDataset {
  readonly name: string;
  /** Whether it is still the same is known by this. */
  readonly sha256: string;
}

export const makingName = (number: number): string => `rows_${number}`;
/** The number of a making by its name; `null` for other names. */
export function makingNumber(name: string): number | null {
  const digits = /^rows_([1-9]\d{0,14})$/.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}
export const isActive = ({ state }: Pick<RowMaking, 'state'>): boolean =>
  state === 'queued' || state === 'running';
