import * as v from 'valibot';
import { rowShapeNames } from '../../../contract/rows.ts';
import { importStates, sourceKinds } from '../../../domain/datasets/imports/import-record.ts';

const text = v.nullable(v.string());
const name = v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024));

const field = v.pipe(v.string(), v.maxLength(64));
const column = v.pipe(v.string(), v.maxLength(1024));
const template = v.pipe(
  v.string(),
  v.maxLength(20_000),
  v.check((given) => given.trim() !== '', 'must not be empty'),
);
const mapping = v.strictObject({
  /** The row shape of the dataset. */
  target: v.picklist(rowShapeNames, `must be one of ${rowShapeNames.join(', ')}`),
  /** The column of each field of that shape that has no template. */
  columns: v.optional(v.record(field, column), {}),
  /** Texts of fields with columns in them: `{{Team}}: {{Answer}}`. A paragraph whose columns are all empty is left out. */
  templates: v.exactOptional(v.record(field, template)),
  /** A system prompt of every row, which may have columns in it; then rows become conversations. One of their own stays. */
  system: v.exactOptional(template),
  /** The columns that rows keep, in `metadata`. */
  metadata: v.exactOptional(v.pipe(v.array(column), v.maxLength(256))),
  /** What columns of the type `label` become: the names of the labels, or their numbers. Default: names. */
  labels: v.exactOptional(v.picklist(['names', 'numbers'])),
});

/** Where an import's rows come from, if no file is sent. */
export const importBody = v.optional(
  v.pipe(
    v.strictObject({
      /** The name of a stored dataset. */
      dataset: v.optional(name),
      /** The full path of a file on the machine of the service. */
      path: v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(4096))),
      /** A dataset of the hub; the default is its only or usual configuration and split. */
      hub: v.optional(
        v.strictObject({
          /** `owner/name`. */
          repo: name,
          config: v.optional(v.nullable(name), null),
          split: v.optional(v.nullable(name), null),
          revision: v.optional(v.nullable(name), null),
        }),
      ),
    }),
    v.check(
      (fields) => Object.keys(fields).length === 1,
      'Give one of dataset, path and hub, or send a file',
    ),
  ),
);
/** `null` for that of the detected shape. */
export const importPreviewBody = v.strictObject({
  mapping: v.nullable(mapping),
  /** Which list of one JSON object has the rows: a `key` of `lists`, also for the start. Default: the one before. */
  rows_at: v.exactOptional(column),
});
export const importStartBody = v.optional(
  v.strictObject({
    /** Default: what the record proposes. */
    mapping: v.optional(v.nullable(mapping), null),
    /** The name of the new dataset, ending with `.jsonl`; a dataset of that name is replaced. Default: a free one. */
    name: v.optional(
      v.nullable(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(255))),
      null,
    ),
    /** Leaves out rows that cannot be imported, instead of failing. */
    skip_invalid: v.optional(v.boolean(), false),
  }),
  {},
);

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const proposed = v.object({
  target: v.string(),
  columns: v.record(v.string(), v.string()),
  templates: v.exactOptional(v.record(v.string(), v.string())),
  system: v.exactOptional(v.string()),
  metadata: v.exactOptional(v.array(v.string())),
  labels: v.exactOptional(v.picklist(['names', 'numbers'])),
});
/** `done_bytes` of the source's `total_bytes` have been read; `rows` are ready, `skipped` were left out. */
const progress = v.strictObject({ done_bytes: count, total_bytes: count, rows: count, skipped: count });
/** Why rows do not fit, the most frequent reasons first. */
const leftOut = v.array(v.strictObject({ column: text, message: v.string(), rows: count }));
const failure = v.nullable(v.strictObject({ message: v.string() }));

export const importRecord = v.object({
  id: v.string(),
  state: v.picklist(importStates),
  source: v.object({ kind: v.picklist(sourceKinds), name: v.string(), size_bytes: count }),
  /** `jsonl`, `json` (an array), `csv`, `tsv`, `parquet` or `arrow`; `null` until the source has been read. */
  container: text,
  /** What `row` and `line` count: rows in tables, and in JSON that is in one line. */
  unit: v.picklist(['line', 'row']),
  compression: text,
  /** The keys of one JSON object under which the rows were found, with dots. */
  rows_at: text,
  /** The lists of objects in one JSON object, by their keys with dots, with their lengths. */
  lists: v.array(v.object({ key: v.string(), rows: count })),
  /** The format of the rows; `columns` if it is none that is known. */
  shape: text,
  /** Those within objects and lists of plain values are named by their path: `answers.text.0`. */
  columns: v.array(v.object({ name: v.string(), type: v.string() })),
  /** How columns are used; `null` if the shape alone determines it, or if a mapping has to be chosen. */
  mapping: v.nullable(proposed),
  /** The columns that rows are made of; others are left out. */
  used: v.array(v.string()),
  /** Whether a field has its column for what its values look like: a start then needs a mapping. */
  guessed: v.boolean(),
  /** The row shape of the dataset; `null` if a mapping has to be chosen. */
  target: text,
  /** What columns can be mapped to. */
  targets: v.array(v.object({ shape: v.picklist(rowShapeNames), fields: v.array(v.string()) })),
  /** The first rows, before and after; `problem` says why one cannot be imported. */
  samples: v.array(v.object({ row: count, before: v.unknown(), after: v.unknown(), problem: text })),
  /** How many rows there are: counted or, unless `is_exact`, estimated. `fit` of the first `checked` can be imported. */
  row_count: v.nullable(
    v.strictObject({
      rows: count,
      is_exact: v.boolean(),
      checked: count,
      fit: v.nullable(count),
      left_out: leftOut,
      /** What ends the source before its end. */
      fault: text,
    }),
  ),
  progress,
  /** The dataset that was made. */
  dataset: text,
  /** The first 100 of `total_problems`. */
  problems: v.array(v.object({ line: v.nullable(v.number()), column: text, message: v.string() })),
  total_problems: count,
  /** Of an import that has ended. */
  left_out: leftOut,
  error: failure,
});
export const importList = v.object({ imports: v.array(importRecord) });

export const hubDatasetQuery = v.object({ repo: name });
/** The Parquet files of a dataset on the hub. */
export const hubDataset = v.object({
  repo: v.string(),
  gated: v.boolean(),
  configs: v.array(
    v.object({
      name: v.string(),
      splits: v.array(v.object({ name: v.string(), files: count, size_bytes: count })),
    }),
  ),
});

/** The fields of a frame of an import beside those of every frame. */
export const importFrameFields = {
  type: v.literal('import'),
  id: v.string(),
  state: v.picklist(importStates),
  progress,
  dataset: text,
  error: failure,
};
