import * as v from 'valibot';
import type { MakingRequest, RowSource } from './row-making.ts';

/** Kinds of rows that are made of passages, each with the exact quotation that it rests on. */
export const passageKinds = ['question-answer', 'summary', 'extraction', 'classification'] as const;
/** Kinds of variants of rows. */
export const variantKinds = ['paraphrase', 'translation', 'harder', 'wrong-answer'] as const;
export const rowKinds = [...passageKinds, ...variantKinds] as const;
export type RowKind = (typeof rowKinds)[number];
type PassageKind = (typeof passageKinds)[number];

export const isVariantKind = (kind: string): kind is (typeof variantKinds)[number] =>
  v.is(v.picklist(variantKinds), kind);

/** A row as a model writes it, before its quotation is looked for. */
export type WrittenRow = Readonly<Record<string, unknown>>;

/** How a model is asked for rows of a kind. */
export interface AskedRows {
  readonly prompt: string;
  /** A JSON schema, to which the answer is held. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The rows of an answer's JSON; `null` if it has another shape. */
  read(value: unknown): WrittenRow[] | null;
}

type Choices = Pick<MakingRequest, 'rowsPerPassage' | 'fields' | 'labels' | 'language' | 'instructions'>;

/** A model of another service may write anything. */
const mostCharacters = 20_000;
const text = v.pipe(
  v.string(),
  v.maxLength(mostCharacters),
  v.check((given) => given.trim() !== ''),
);
const nullable = { type: ['string', 'null'] };
const string = { type: 'string' };
const object = (properties: Readonly<Record<string, object>>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

const quoted =
  '"quotation" is copied from the passage letter by letter: the sentence, or the part of one, that proves it.';
const inPassageLanguage = 'Write in the language of the passage.';

/** What is asked about a passage, and the row of an answer. */
const ofPassage: Readonly<
  Record<
    PassageKind,
    {
      task(choices: Choices): string;
      properties(choices: Choices): Readonly<Record<string, object>>;
      row(written: Readonly<Record<string, unknown>>, passage: string, choices: Choices): WrittenRow | null;
    }
  >
> = {
  'question-answer': {
    task: ({ rowsPerPassage: count }) =>
      `Write up to ${count} different questions that the passage answers, each with its complete answer. A question must be understood by somebody who does not see the passage, so it never speaks of "the passage" or "the text". An answer says nothing that the passage does not say. ${inPassageLanguage}`,
    properties: () => ({ question: string, answer: string }),
    row({ question, answer }) {
      return v.is(text, question) && v.is(text, answer) ? { input: question, output: answer } : null;
    },
  },
  summary: {
    task: () =>
      `Write a summary of the passage in one to three sentences. It says nothing that the passage does not say. The quotation is what matters most. ${inPassageLanguage}`,
    properties: () => ({ summary: string }),
    row: ({ summary }, passage) => (v.is(text, summary) ? { input: passage, output: summary } : null),
  },
  extraction: {
    task: ({ fields }) =>
      `Extract these fields from the passage: ${fields.join(', ')}. A field that the passage does not have is null. The quotation has at least one of the values.`,
    properties: ({ fields }) => ({
      values: object(Object.fromEntries(fields.map((field) => [field, nullable]))),
    }),
    row({ values }, passage, { fields }) {
      if (!v.is(v.record(v.string(), v.nullable(v.pipe(v.string(), v.maxLength(mostCharacters)))), values))
        return null;
      const found = Object.fromEntries(fields.map((field) => [field, values[field] ?? null]));
      return { input: passage, output: JSON.stringify(found) };
    },
  },
  classification: {
    task: ({ labels }) => `Choose the label that fits the passage best: ${labels.join(', ')}.`,
    properties: ({ labels }) => ({ label: { type: 'string', enum: labels } }),
    row: ({ label }, passage, { labels }) =>
      typeof label === 'string' && labels.includes(label) ? { input: passage, output: label } : null,
  },
};

const ofRow: Readonly<
  Record<
    (typeof variantKinds)[number],
    {
      task(choices: Choices): string;
      fields: readonly string[];
      row(
        written: Readonly<Record<string, unknown>>,
        before: { input: string; output: string },
      ): WrittenRow | null;
    }
  >
> = {
  paraphrase: {
    task: () =>
      'Ask for the same in quite other words, as another person would. The answer must stay right for it.',
    fields: ['input'],
    row: ({ input }, { output }) => (v.is(text, input) ? { input, output } : null),
  },
  translation: {
    task: ({ language }) => `Translate the request and the answer into ${language}. Keep names and numbers.`,
    fields: ['input', 'output'],
    row: ({ input, output }) => (v.is(text, input) && v.is(text, output) ? { input, output } : null),
  },
  harder: {
    task: () =>
      'Write a harder request of the same subject, which takes one more step of thinking, and its complete answer. Use no facts but those that are given here.',
    fields: ['input', 'output'],
    row: ({ input, output }) => (v.is(text, input) && v.is(text, output) ? { input, output } : null),
  },
  'wrong-answer': {
    task: () =>
      'Write a wrong answer to the request that somebody could believe: as long and in the same style as the right one, but with a wrong fact.',
    fields: ['output'],
    row: ({ output }, { input: prompt, output: chosen }) =>
      v.is(text, output) && output.trim() !== chosen.trim() ? { prompt, chosen, rejected: output } : null,
  },
};

const rows = v.object({ rows: v.array(v.record(v.string(), v.unknown())) });

/** What a model is asked about a source. */
export function askedRows(kind: RowKind, source: RowSource, choices: Choices): AskedRows {
  const further = choices.instructions === null ? '' : `\n${choices.instructions}`;
  if (source.kind === 'row')
    return askedVariant(kind as (typeof variantKinds)[number], source.row, choices, further);
  const { file, page, text: passage } = source.passage;
  const { task, properties, row } = ofPassage[kind as PassageKind];
  const most = kind === 'question-answer' ? choices.rowsPerPassage : 1;
  const each = object({ quotation: string, ...properties(choices) });
  return {
    prompt: `${task(choices)} ${quoted}${further}\nAnswer with JSON alone: ${JSON.stringify(shapeOf(each))}\n\nThe passage:\n${passage}`,
    schema: object({ rows: { type: 'array', items: each, minItems: 1, maxItems: most } }),
    read(value) {
      const { success, output } = v.safeParse(rows, value);
      if (!success || output.rows.length === 0) return null;
      const made = output.rows.slice(0, most).map((written) => {
        const found = row(written, passage, choices);
        return found === null ? null : { ...found, file, page, quotation: String(written.quotation ?? '') };
      });
      const sound = made.filter((one) => one !== null);
      return sound.length === 0 ? null : sound;
    },
  };
}

function askedVariant(
  kind: (typeof variantKinds)[number],
  before: { readonly input: string; readonly output: string; readonly [column: string]: unknown },
  choices: Choices,
  further: string,
): AskedRows {
  const { task, fields, row } = ofRow[kind];
  const schema = object(Object.fromEntries(fields.map((field) => [field, string])));
  const { input, output, ...others } = before;
  const known = typeof others.quotation === 'string' ? `\n\nWhat is known:\n${others.quotation}` : '';
  const shape = Object.fromEntries(fields.map((field) => [field, '…']));
  return {
    prompt: `${task(choices)} "input" is a request, "output" its answer.${further}\nAnswer with JSON alone: ${JSON.stringify(shape)}\n\nThe request:\n${input}\n\nThe answer:\n${output}${known}`,
    schema,
    read(value) {
      if (!v.is(v.record(v.string(), v.unknown()), value)) return null;
      const made = row(value, { input, output });
      return made === null ? null : [{ ...made, ...others }];
    },
  };
}

/** An answer as a model is shown it. */
const shapeOf = ({ properties }: { readonly properties: Readonly<Record<string, object>> }) => ({
  rows: [Object.fromEntries(Object.keys(properties).map((name) => [name, name === 'values' ? {} : '…']))],
});

/** The text by which rows are compared; `null` where they are made of passages that were compared already. */
export const comparedText = (kind: RowKind, row: WrittenRow): string | null => {
  if (kind === 'wrong-answer') return `${row.prompt}\n${row.rejected}`;
  return kind === 'question-answer' || isVariantKind(kind) ? `${row.input}\n${row.output}` : null;
};

/** Tokens of an answer, from experience: no more than an estimate. */
export const answerTokensOf = (kind: RowKind, { rowsPerPassage }: Pick<Choices, 'rowsPerPassage'>): number =>
  kind === 'question-answer' ? 100 * rowsPerPassage : 150;
