import { rowShapeNames, rowShapes } from '../../../contract/rows.ts';
import type { ImportEvent } from '../../../trainer/import-rows.ts';

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

export type RowCount = Extract<ImportEvent, { event: 'count' }>;
export type LeftOut = RowCount['left_out'];
export type Proposal = Extract<ImportEvent, { event: 'proposal' }> & {
  /** `null` where nothing was counted. */
  readonly rowCount: RowCount | null;
};

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
  /** Why rows do not fit, the most frequent reasons first. */
  leftOut: LeftOut;
  error: string | null;
}

/** The row shapes that columns can be mapped to. */
export const importTargets = rowShapeNames.map((shape) => ({ shape, fields: rowShapes[shape] }));
