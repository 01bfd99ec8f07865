import { type RowShape, rowShapeNames, rowShapes } from '../../../contract/rows.ts';
import { refusalOf } from '../../../faults.ts';
import type { ImportEvent, ImportMapping } from '../../../trainer/import-rows.ts';

export const importStates = ['reading', 'proposed', 'running', 'completed', 'failed', 'cancelled'] as const;
export type ImportState = (typeof importStates)[number];
export const sourceKinds = ['upload', 'dataset', 'path', 'hub'] as const;

/** Where a source comes from. */
export interface ImportSource {
  readonly kind: (typeof sourceKinds)[number];
  /** The file's name, the dataset's, the path, or the hub's repository. */
  readonly name: string;
  readonly sizeBytes: number;
}

export type Proposal = Extract<ImportEvent, { event: 'proposal' }>;

/** A fault of a source; `line` counts from 1 and is the number of the row in Parquet. */
export interface ImportProblem {
  readonly line: number | null;
  readonly column: string | null;
  readonly message: string;
}

/** An import; its fields change until it has ended. */
export interface ImportRecord {
  readonly id: string;
  state: ImportState;
  source: ImportSource;
  /** `null` until the source has been looked at. */
  proposal: Proposal | null;
  progress: { doneBytes: number; totalBytes: number; rows: number; skipped: number };
  /** What it made. */
  dataset: string | null;
  /** The first of `totalProblems`. */
  problems: ImportProblem[];
  totalProblems: number;
  error: string | null;
}

/** The row shapes that columns can be mapped to. */
export const importTargets = rowShapeNames.map((shape) => ({ shape, fields: rowShapes[shape] }));

/**
 * Checks a mapping against the columns that the source has.
 * @throws AppError `invalid` naming the field or column.
 */
export function checkMapping(mapping: ImportMapping, columns: Proposal['columns']): void {
  const fields: readonly string[] = rowShapes[mapping.target as RowShape];
  const wrong = Object.keys(mapping.columns).find((field) => !fields.includes(field));
  if (wrong !== undefined) {
    throw refusalOf(
      'mapping',
      `"${wrong}" is no field of ${mapping.target}; its fields: ${fields.join(', ')}`,
    );
  }
  for (const field of fields) {
    const column = mapping.columns[field];
    if (column === undefined) throw refusalOf('mapping', `No column is given for the field "${field}"`);
    if (columns.some(({ name }) => name === column)) continue;
    const known = columns.map(({ name }) => name).join(', ');
    throw refusalOf('mapping', `The source has no column "${column}"; its columns: ${known.slice(0, 500)}`);
  }
}
