import * as v from 'valibot';
import { rowShapeNames } from '../../../contract/rows.ts';
import { fixes } from '../../../domain/datasets/cleaning/clean-rows.ts';
import { importNote } from '../../../domain/datasets/files/import-note.ts';
import { trainingRequest } from '../../../domain/training/training-request.ts';
import { notList } from '../common.ts';
import { wholeNumber } from '../whole-number.ts';

export const rowsQuery = v.object({
  rows: wholeNumber(20, 200, 'The most rows.'),
  from: wholeNumber(0, 2 ** 31, 'The number of the first row, from 0.'),
  /** Only rows with this text in a value, in upper or lower case. */
  search: v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1000))),
  /** Only the rows at these lines, by number from 1, with commas between them. */
  lines: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(2000, 'must be at most 2,000 characters'),
      v.regex(/^\d{1,10}(,\d{1,10})*$/, 'must be numbers of lines with commas between them'),
    ),
  ),
  /** `true` for the flagged rows alone. */
  flagged: v.optional(
    v.pipe(
      v.picklist(['true', 'false']),
      v.transform((text) => text === 'true'),
    ),
    'false',
  ),
  /**
   * Orders the rows by length, `-length` from the longest down. `from` is then a place in this order. Lengths are tokens of
   * `model_name` in a dataset of up to 20,000 rows, else the characters of all texts of a row.
   */
  sort: v.optional(v.picklist(['length', '-length'])),
  /** Checks the dataset's size for this model. */
  model_name: v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024))),
});

const mostNewRows = 1000;
/** Rows in one of the shapes for training. */
export const newRows = v.strictObject({
  rows: v.pipe(
    v.array(v.intersect([v.looseObject({}, 'must be an object'), notList])),
    v.minLength(1, 'must hold at least one row'),
    v.maxLength(mostNewRows, `must be at most ${mostNewRows}`),
  ),
});

const line = v.pipe(
  v.number(),
  v.integer('must be a whole number'),
  v.minValue(1, 'must be at least 1'),
  v.maxValue(2 ** 31),
);
const mostEdits = 1000;
const edits = <const S extends v.GenericSchema>(edit: S) =>
  v.optional(v.pipe(v.array(edit), v.maxLength(mostEdits, `must be at most ${mostEdits}`)), []);
const lineText = v.strictObject({ line, text: v.string() });
/** Edits by the number of a line, from 1, as it is before them. A `text` is a row's JSON on one line. */
export const rowEdits = v.pipe(
  v.strictObject({
    /** `version` of the rows, to which these edits were made. */
    version: v.pipe(v.string(), v.maxLength(64)),
    changes: edits(lineText),
    /** Puts lines back, before those that have these numbers now, or at the end; they may have the faults that they had. */
    insertions: edits(lineText),
    /** The numbers of lines. */
    deletions: edits(line),
  }),
  v.check(
    ({ changes, insertions, deletions }) => changes.length + insertions.length + deletions.length > 0,
    'changes, insertions and deletions: give at least one of them',
  ),
);
/** The numbers of lines, from 1. */
export const flagBody = v.pipe(
  v.strictObject({
    /** `version` of the rows whose lines these are. */
    version: v.pipe(v.string(), v.maxLength(64)),
    flagged: edits(line),
    unflagged: edits(line),
  }),
  v.check(
    ({ flagged, unflagged }) => flagged.length + unflagged.length > 0,
    'flagged and unflagged: give at least one of them',
  ),
);
export const cleaningBody = v.strictObject({
  /** `version` of the rows that were analysed. */
  version: v.pipe(v.string(), v.maxLength(64)),
  /**
   * Removes rows that are equal to an earlier one in all fields of their shape, have an empty answer, are flagged, or are
   * not flagged; or trims texts.
   */
  fix: v.picklist(fixes),
});
export const row = v.object({
  line: v.number(),
  /** As it is written in the file. */
  text: v.string(),
  version: v.string(),
});

export const analysisBody = v.optional(
  v.strictObject({
    /** Counts tokens as a training of this model would. */
    model_name: v.optional(v.nullable(trainingRequest.entries.model_name)),
    max_seq_length: trainingRequest.entries.max_seq_length,
    /** Looks for the rows of this dataset in the other. */
    validation_dataset: v.optional(v.nullable(trainingRequest.entries.dataset)),
  }),
  {},
);
const lineNumbers = v.array(v.number());
const pair = v.object({ lines: lineNumbers, similarity: v.number(), texts: v.array(v.string()) });
/** Numbers of rows count those that repeat an earlier one. Lists of lines, groups and pairs have the first of them. */
export const analysis = v.object({
  rows: v.number(),
  shape: v.picklist(rowShapeNames),
  /** `null` without `model_name`. */
  lengths: v.nullable(
    v.object({
      model: v.string(),
      max_seq_length: v.number(),
      /** The rows whose tokens were counted, drawn at random from larger datasets. */
      sampled_rows: v.number(),
      /** `from` and `to` are numbers of tokens, both included. */
      bins: v.array(v.object({ from: v.number(), to: v.number(), count: v.number() })),
      median: v.number(),
      p95: v.number(),
      p99: v.number(),
      longest: v.number(),
      /** Of the counted rows, those that are longer than `max_seq_length`. */
      truncated_rows: v.number(),
      /** The share of learned tokens of all that are trained; `null` for models that point at answers. */
      learned_share: v.nullable(v.number()),
    }),
  ),
  exact_duplicates: v.object({
    rows: v.number(),
    groups: v.array(v.object({ lines: lineNumbers, text: v.string() })),
  }),
  /** Rows whose texts have a Jaccard similarity of at least 0.8; estimated if there are more than 200. */
  near_duplicates: v.object({
    rows: v.number(),
    /** The first rows, which were compared. */
    compared_rows: v.number(),
    pairs: v.array(pair),
  }),
  /** Rows of the validation dataset that the dataset has, too; each example has a line of both. */
  overlap: v.nullable(
    v.object({ dataset: v.string(), exact: v.number(), near: v.number(), examples: v.array(pair) }),
  ),
  empty_answers: v.object({ rows: v.number(), lines: lineNumbers }),
  /** Rows with a text that begins or ends with white space. */
  padded_texts: v.object({ rows: v.number(), lines: lineNumbers }),
});
export const stored = v.object({
  filename: v.string(),
  num_examples: v.number(),
  size_mb: v.number(),
  uploaded_at: v.string(),
  /** The names that it had before, by which it is found, too; the first one first. */
  former_names: v.array(v.string()),
});
/** The name of a file, of which letters, digits and `._-` are kept. */
const filename = v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024));
export const renameBody = v.strictObject({ filename });
export const copyBody = v.optional(
  v.strictObject({
    /** By default, a name that is free. */
    filename: v.optional(v.nullable(filename), null),
  }),
  {},
);
/** Exactly one of `fraction` and `rows` says how many rows are held out. */
export const splitBody = v.pipe(
  v.strictObject({
    fraction: v.optional(
      v.pipe(v.number(), v.gtValue(0, 'must be greater than 0'), v.ltValue(1, 'must be less than 1')),
    ),
    rows: v.optional(
      v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(1, 'must be at least 1')),
    ),
    seed: v.optional(
      v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(0), v.maxValue(2 ** 32 - 1)),
      42,
    ),
  }),
  v.check(
    ({ fraction, rows }) => (fraction === undefined) !== (rows === undefined),
    'Set fraction (a share of the rows, such as 0.1) or rows (their number), one of them',
  ),
);
export const split = v.object({ training: stored, validation: stored });
const validation = v.object({
  valid: v.boolean(),
  shape: v.nullable(v.picklist(rowShapeNames)),
  errors: v.array(
    v.object({ line: v.nullable(v.number()), field: v.nullable(v.string()), message: v.string() }),
  ),
  total_errors: v.number(),
});
export const edited = v.object({ ...stored.entries, validation, version: v.string() });
export const cleaned = v.object({ ...edited.entries, removed_rows: v.number(), changed_rows: v.number() });
export const dataset = v.object({
  ...stored.entries,
  validation,
  /** Another text once the rows have changed. */
  version: v.string(),
  /** The format of another tool from which its rows can be imported; `null` if there is none. */
  convertible: v.nullable(v.string()),
  /** What made it, if it was imported. */
  import: v.nullable(importNote),
  /** Warnings that it is smaller than recommended. */
  warnings: v.array(v.string()),
  rows: v.array(v.unknown()),
  /** The places in `rows` of those that are too long and displayed in part. */
  cut_rows: v.array(v.number()),
  /** The places in `rows` of those that are flagged. */
  flagged_rows: v.array(v.number()),
  /** The line of each of `rows`, from 1. */
  lines: v.array(v.number()),
  /** The length of each of `rows`, if `sort` orders them. */
  lengths: v.nullable(v.array(v.number())),
  length_unit: v.nullable(v.picklist(['tokens', 'characters'])),
  /** `from` of the next page; `null` at the end. */
  next_from: v.nullable(v.number()),
  /** How many rows have the text of `search` (or how many there are); `null` if that is not known yet. */
  total: v.nullable(v.number()),
});
const version = v.object({
  /** Of the file of its rows. */
  sha256: v.string(),
  /** Whether the dataset has these rows now. */
  current: v.boolean(),
  created_at: v.string(),
  num_examples: v.nullable(v.number()),
  size_mb: v.number(),
  /** The runs and evaluations that used it, and that keep it if it is not current. */
  used_by: v.array(v.object({ kind: v.picklist(['run', 'evaluation']), id: v.string(), name: v.string() })),
});
export const versions = v.object({
  /** The newest first, at most 50. */
  versions: v.array(
    v.object({
      ...version.entries,
      /** Rows that the version before does not have; `null` for the first one, and for files over 20 MB. */
      added_rows: v.nullable(v.number()),
      /** Rows of the version before that are no longer there. */
      removed_rows: v.nullable(v.number()),
    }),
  ),
});
export const versionQuery = v.pick(rowsQuery, ['rows', 'from', 'search']);
export const versionRows = v.object({
  ...version.entries,
  rows: v.array(v.unknown()),
  /** The places in `rows` of those that are too long and displayed in part. */
  cut_rows: v.array(v.number()),
  /** The line of each of `rows`, from 1. */
  lines: v.array(v.number()),
  /** `from` of the next page; `null` at the end. */
  next_from: v.nullable(v.number()),
});
export const restoreBody = v.strictObject({
  /** `version` of the rows that are replaced. */
  version: v.pipe(v.string(), v.maxLength(64)),
});
const { dataset: _dataset, ...withoutDataset } = trainingRequest.entries;
export const previewBody = v.strictObject({
  ...withoutDataset,
  rows: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50, 'must be at most 50')), 5),
});
export const examples = v.object({
  examples: v.array(
    v.object({
      name: v.string(),
      task: v.string(),
      strategy: v.string(),
      num_examples: v.number(),
      sentence: v.string(),
      model_name: v.string(),
      /** Training request fields for this model, in addition to the recommended ones. */
      settings: v.record(v.string(), v.number()),
    }),
  ),
});
export const usedExample = v.object({ filename: v.string() });
