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

const described = <S extends v.GenericSchema>(text: string, schema: S) => v.pipe(schema, v.description(text));
const or = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema), null);

const makingFields = {
  name: described(
    'The name of the datasets: NAME.jsonl, and NAME-validation.jsonl with rows of other documents.',
    text(100),
  ),
  kind: described(
    'What rows are made of passages, or how rows of a dataset are varied.',
    v.picklist(rowKinds, `must be one of ${rowKinds.join(', ')}`),
  ),
  model: described('Who writes them: any name that /v1/chat/completions answers to.', text(1024)),
  documents: described(
    'The IDs of documents. Default: all.',
    or(v.pipe(v.array(v.pipe(v.string(), v.maxLength(100))), v.maxLength(10_000))),
  ),
  dataset: described('A dataset with input and output, for variants.', or(text(255))),
  max_rows: described('The most rows. Default: 200.', v.optional(whole(1, 20_000), 200)),
  rows_per_passage: described(
    'The most questions about one passage. Default: 3.',
    v.optional(whole(1, 10), 3),
  ),
  passage_characters: described('The longest passage. Default: 2000.', v.optional(whole(200, 8_000), 2_000)),
  validation_share: described(
    'The share of passages for validation, with whole documents. Default: 0.1 with several documents.',
    or(v.pipe(v.number(), v.minValue(0, 'must be at least 0'), v.maxValue(0.5, 'must be at most 0.5'))),
  ),
  seed: described(
    'The same seed gives the same passages in the same order. Default: 42.',
    v.optional(whole(0, 2 ** 32 - 1), 42),
  ),
  temperature: described('How freely the model writes. Default: 0.', v.optional(temperatureBound, 0)),
  max_tokens: described('The longest answer. Default: 2048.', v.optional(whole(16, 32_768), 2_048)),
  instructions: described('What the model is told beside.', or(text(4_000))),
  fields: described('What an extraction looks for.', or(names(1, 'fields'))),
  labels: described('What a classification chooses from.', or(names(2, 'labels'))),
  language: described('Into which language a translation translates.', or(text(100))),
  grader: described(
    'A stored grader that scores the answer of each row, which has the column passage for it.',
    or(text(100)),
  ),
  bar: described('Rows with a lower score are dropped.', or(v.pipe(v.number(), v.finite()))),
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
