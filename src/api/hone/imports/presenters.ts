import {
  type ImportRecord,
  importTargets,
  type RowCount,
} from '../../../domain/datasets/imports/import-record.ts';

export function presentImport({ id, state, source, proposal, progress, ...record }: ImportRecord) {
  return {
    id,
    state,
    source: { kind: source.kind, name: source.name, size_bytes: source.sizeBytes },
    container: proposal?.container ?? null,
    unit: proposal?.unit ?? 'line',
    compression: proposal?.compression ?? null,
    rows_at: proposal?.rows_at ?? null,
    lists: proposal?.lists ?? [],
    shape: proposal?.shape ?? null,
    columns: proposal?.columns ?? [],
    mapping: proposal?.mapping ?? null,
    used: proposal?.used ?? [],
    guessed: proposal?.guessed ?? false,
    target: proposal?.target ?? null,
    targets: importTargets,
    samples: proposal?.samples ?? [],
    row_count: presentCount(proposal?.rowCount ?? null),
    progress: {
      done_bytes: progress.doneBytes,
      total_bytes: progress.totalBytes,
      rows: progress.rows,
      skipped: progress.skipped,
    },
    dataset: record.dataset,
    problems: record.problems,
    total_problems: record.totalProblems,
    left_out: record.leftOut,
    error: record.error === null ? null : { message: record.error },
  };
}

function presentCount(counted: RowCount | null) {
  if (counted === null) return null;
  const { event: _event, ...fields } = counted;
  return fields;
}
