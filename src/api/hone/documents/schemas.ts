import * as v from 'valibot';
import {
  isVariantKind,
  passageKinds,
  rowKinds,
  variantKinds,
} from '../../../domain/documents/making/row-kinds.ts';
import { dropReasons, makingStates, uselessAnswers } from '../../../domain/documents/making/row-making.ts';
import { temperatureBound } from '../../../domain/playground/generation-bounds.ts';
import { wholeNumber } from '../whole-number.ts';

const count = v.number();
const document = {
  id: v.string(),
  name: v.string(),
  /** Of the file, which is not kept. */
  size_bytes: count,
  /** Of its text. */
  characters: count,
  /** 1 for formats without pages. */
  pages: count,
  /** They may be scanned. */
  pages_without_text: count,
  created_at: v.string(),
};
export const documentRecord = v.object(document);
export const documentList = v.object({ documents: v.array(documentRecord) });
export const pagesQuery = v.strictObject({
  from: wholeNumber(1, 1_000_000, 'The first page, from 1.'),
  limit: wholeNumber(20, 100, 'The most pages.'),
});
export const documentPages = v.object({
  ...document,
  /** `page` is null for formats without pages, `text` for a page that cannot be read. */
  texts: v.array(v.object({ page: v.nullable(count), text: v.nullable(v.string()) })),
});

const whole = (least: number, most: number) =>
  v.pipe(
    v.number(),
    v.integer('must be a whole number'),
    v.minValue(least, `must be at least ${least}`),
    v.maxValue(most, `must be at most ${most}`),
  );
const text = (most: number) =>
  v.pipe(
    v.string(),
    v.check((given) => given.trim() !== '', 'must not be empty'),
    v.maxLength(most, `must have at most ${most} characters`),
  );
const names = (least: number, of: string) =>
  v.pipe(
    v.array(text(100), `must be a list of ${of}`),
    v.minLength(least, `must have at least ${least} ${of}`),
    v.maxLength(100, `must have at most 100 ${of}`),
    v.check((given) => new Set(given).size === given.length, `must not have the same of ${of} twice`),
  );

const makingFields = {
  /** Of the datasets that are made: `NAME.jsonl`, and `NAME-validation.jsonl` with rows of other documents. */
  name: text(100),
  /** What rows are made of passages, or how rows of a dataset are varied. */
  kind: v.picklist(rowKinds, `must be one of ${rowKinds.join(', ')}`),
  /** Who writes them: any name that `/v1/chat/completions` answers to. */
  model: text(1024),
  /** The IDs of documents. Default: all. */
  documents: v.optional(
    v.nullable(v.pipe(v.array(v.pipe(v.string(), v.maxLength(100))), v.maxLength(10_000))),
    null,
  ),
  /** A dataset with `input` and `output`, for variants. */
  dataset: v.optional(v.nullable(text(255)), null),
  max_rows: v.optional(whole(1, 20_000), 200),
  /** The most questions about one passage. */
  rows_per_passage: v.optional(whole(1, 10), 3),
  /** The longest passage. */
  passage_characters: v.optional(whole(200, 8_000), 2_000),
  /** Which share of the passages is for validation, with whole documents. Default: 0.1 with several documents. */
  validation_share: v.optional(
    v.nullable(
      v.pipe(v.number(), v.minValue(0, 'must be at least 0'), v.maxValue(0.5, 'must be at most 0.5')),
    ),
    null,
  ),
  /** The same seed gives the same passages in the same order. */
  seed: v.optional(whole(0, 2 ** 32 - 1), 42),
  temperature: v.optional(temperatureBound, 0),
  /** Of one answer. */
  max_tokens: v.optional(whole(16, 32_768), 2_048),
  /** What the model is told beside. */
  instructions: v.optional(v.nullable(text(4_000)), null),
  /** What an extraction looks for. */
  fields: v.optional(v.nullable(names(1, 'fields')), null),
  /** What a classification chooses from. */
  labels: v.optional(v.nullable(names(2, 'labels')), null),
  /** Into which a translation translates. */
  language: v.optional(v.nullable(text(100)), null),
  /** A stored grader, which scores each row's answer; a row also has the column `passage` for it. */
  grader: v.optional(v.nullable(text(100)), null),
  /** Rows with a lower score are dropped. */
  bar: v.optional(v.nullable(v.pipe(v.number(), v.finite())), null),
};

type Fields = { readonly [F in keyof typeof makingFields]: v.InferOutput<(typeof makingFields)[F]> };
/** A field that goes with some kinds alone. */
const goesWith = (field: keyof Fields, isNeeded: (kind: Fields['kind']) => boolean, said: string) =>
  v.forward(
    v.check<Fields, string>((body) => (body[field] !== null) === isNeeded(body.kind), said),
    [field] as never,
  );

export const makingBody = v.pipe(
  v.strictObject(makingFields),
  goesWith('fields', (kind) => kind === 'extraction', 'goes with the kind extraction alone, which needs it'),
  goesWith(
    'labels',
    (kind) => kind === 'classification',
    'goes with the kind classification alone, which needs it',
  ),
  goesWith(
    'language',
    (kind) => kind === 'translation',
    'goes with the kind translation alone, which needs it',
  ),
  goesWith('dataset', isVariantKind, `goes with the kinds ${variantKinds.join(', ')} alone, which need it`),
  v.forward(
    v.check(
      ({ documents, kind }) => documents === null || (!isVariantKind(kind) && documents.length > 0),
      `must have at least one document, and goes with the kinds ${passageKinds.join(', ')} alone`,
    ),
    ['documents'],
  ),
  v.forward(
    v.check(({ bar, grader }) => bar === null || grader !== null, 'needs a grader'),
    ['bar'],
  ),
);
export type MakingBody = v.InferOutput<typeof makingBody>;

const counts = <K extends string>(names: Readonly<Record<K, string>>) =>
  v.object(Object.fromEntries(Object.keys(names).map((name) => [name, count])) as Record<K, typeof count>);
const ofParts = <S extends v.GenericSchema>(schema: S) => v.object({ training: schema, validation: schema });
const tokens = { prompt: count, answer: count };

export const estimate = v.object({
  /** Passages or rows that can be asked about. */
  sources: count,
  /** Passages that are left out. */
  near_duplicates: count,
  /** The documents of each dataset. */
  files: ofParts(v.array(v.string())),
  /** The fewest requests, if every answer makes as many rows as are asked for. */
  requests: count,
  /** What they take, estimated with four characters in a token. */
  tokens: v.object(tokens),
});

export const making = v.object({
  id: v.string(),
  state: v.picklist(makingStates),
  request: v.object({
    name: v.string(),
    kind: v.string(),
    model: v.string(),
    /** The IDs of documents, some of which may be deleted by now. */
    documents: v.array(v.string()),
    dataset: v.nullable(v.string()),
    max_rows: count,
    rows_per_passage: count,
    passage_characters: count,
    validation_share: count,
    seed: count,
    temperature: count,
    max_tokens: count,
    instructions: v.nullable(v.string()),
    fields: v.array(v.string()),
    labels: v.array(v.string()),
    language: v.nullable(v.string()),
    grader: v.nullable(v.string()),
    bar: v.nullable(count),
  }),
  created_at: v.string(),
  ended_at: v.nullable(v.string()),
  /** Why it failed; it can be resumed. */
  error: v.nullable(v.string()),
  /** What was said last of a request that was not accepted. */
  last_problem: v.nullable(v.string()),
  /** Passages or rows that are asked about until there are enough rows; `answered` of them are. */
  sources: count,
  answered: count,
  near_duplicates: count,
  files: ofParts(v.array(v.string())),
  /** Answers that made no row. */
  useless: counts(uselessAnswers),
  rows: ofParts(count),
  /** Rows that were not kept. */
  dropped: counts(dropReasons),
  /** `expected` is what the rest will take if it goes on like this; null before the first answers and after the end. */
  tokens: v.object({ ...tokens, grading: count, expected: v.nullable(count) }),
  /** The datasets that were written. */
  datasets: ofParts(v.nullable(v.string())),
});
export const makingList = v.object({ makings: v.array(making) });
