import { basename } from 'node:path';
import { AppError } from '../../../errors.ts';
import { type ImportMapping, type ImportRequest, readForeignRows } from '../../../trainer/import-rows.ts';
import type { TrainerCommand } from '../../../trainer/processes/supervisor.ts';
import type { Dataset } from '../dataset.ts';
import type { Datasets } from '../datasets.ts';
import type { ImportNote } from '../files/import-note.ts';
import type { Validation } from '../rows/row-validator.ts';
import { refusedRows } from '../rows/validate-file.ts';
import type { ImportProblem, ImportRecord, ImportSource, Proposal, RowCount } from './import-record.ts';

const maximumProblems = 100;

/** What an import's process is started with. */
export interface ImportWork {
  readonly command: TrainerCommand;
  readonly paths: readonly string[];
  readonly scratch: string;
  /** The most bytes that a gzip file may expand to, and that an import may write. */
  readonly limitBytes: number;
  readonly signal: AbortSignal;
  /** Which list of a JSON object has the rows; `null` for the longest. */
  readonly rowsAt: string | null;
}

const requestOf = ({ paths, scratch, limitBytes, rowsAt }: ImportWork, mapping: ImportMapping | null) => ({
  paths,
  scratch,
  limitBytes,
  rowsAt,
  mapping,
});

/**
 * Looks at a source: what it is, and how its first rows would be converted.
 * @throws AppError `invalid` with the fault as `details.problem`, if it cannot be read.
 */
export async function proposeImport(work: ImportWork, mapping: ImportMapping | null): Promise<Proposal> {
  let proposal: Proposal | null = null;
  let rowCount: RowCount | null = null;
  let problem: ImportProblem | null = null;
  const request: ImportRequest = { ...requestOf(work, mapping), run: false, skipInvalid: false };
  await readForeignRows(work.command, request, work.signal, (event) => {
    if (event.event === 'proposal') proposal = { ...event, rowCount: null };
    if (event.event === 'count') rowCount = event;
    if (event.event === 'failed') problem = problemOf(event);
  }).ended;
  if (proposal !== null) return { ...(proposal as Proposal), rowCount };
  throw refused(problem);
}

const problemOf = ({ line, column, message }: ImportProblem): ImportProblem => ({ line, column, message });

const refused = (problem: ImportProblem | null) =>
  new AppError('invalid', problem?.message ?? 'The import was cancelled.', { details: { problem } });

/**
 * Reads all rows of a source into a dataset, and keeps `record` up to date. Nothing is stored unless every row is valid,
 * or was left out as `skipInvalid` asks.
 * @throws AppError `invalid` for faults of the source, `disk_full`, `unavailable` and `internal`.
 */
export async function runImport(
  work: ImportWork,
  record: ImportRecord,
  options: {
    mapping: ImportMapping | null;
    /** `null` for a free one after the source's. */
    name: string | null;
    skipInvalid: boolean;
    version: string;
    datasets: Pick<Datasets, 'upload'>;
    onProgress: () => void;
  },
): Promise<Dataset> {
  const { mapping, skipInvalid } = options;
  let problem: ImportProblem | null = null;
  let isComplete = false;
  const request: ImportRequest = { ...requestOf(work, mapping), run: true, skipInvalid };
  const { rows, ended } = readForeignRows(work.command, request, work.signal, (event) => {
    if (event.event === 'proposal')
      record.proposal = { ...event, rowCount: record.proposal?.rowCount ?? null };
    else if (event.event === 'progress') {
      const { done_bytes: doneBytes, rows: read, skipped } = event;
      record.progress = { ...record.progress, doneBytes, rows: read, skipped };
      options.onProgress();
    } else if (event.event === 'problem') {
      if (record.problems.length < maximumProblems) record.problems.push(problemOf(event));
      record.totalProblems += 1;
    } else if (event.event === 'failed') problem = problemOf(event);
    else if (event.event === 'end') {
      isComplete = true;
      record.leftOut = event.left_out;
      record.totalProblems = event.problems;
      record.progress = { ...record.progress, rows: event.rows, skipped: event.skipped };
    }
  });

  async function* checked() {
    let bytes = 0;
    for await (const piece of rows) {
      bytes += piece.length;
      if (bytes > work.limitBytes) {
        throw new AppError(
          'invalid',
          `The rows take more than ${work.limitBytes} bytes, which is the limit of an import. Split the dataset.`,
        );
      }
      yield piece;
    }
    await ended;
    // Before the file gets its name: nothing half-imported is ever listed.
    if (problem !== null || !isComplete) throw refused(problem);
    if (record.totalProblems > 0 && !skipInvalid) throw invalidRows(record);
  }

  const note = (validation: Validation): ImportNote => ({
    source: { kind: record.source.kind, name: record.source.name, size_bytes: record.source.sizeBytes },
    container: record.proposal?.container ?? null,
    compression: record.proposal?.compression ?? null,
    shape: record.proposal?.shape ?? null,
    mapping: record.proposal?.mapping ?? null,
    rows_read: validation.numExamples + record.progress.skipped,
    rows_written: validation.numExamples,
    rows_skipped: record.progress.skipped,
    imported_at: new Date().toISOString(),
    version: options.version,
  });
  return options.datasets.upload(options.name ?? nameAfter(record.source), checked(), {
    keepOthers: options.name === null,
    check(validation) {
      if (!validation.valid)
        throw refusedRows(`The rows cannot be stored${leftOutWords(record)}`, validation);
    },
    note,
  });
}

function invalidRows({ problems, totalProblems }: ImportRecord): AppError {
  const more = totalProblems > 1 ? ` (and ${totalProblems - 1} more)` : '';
  return new AppError(
    'invalid',
    `${problems[0]?.message}${more}. Correct the rows, or leave them out with skip_invalid.`,
  );
}

/** Which columns most of the rows were left out for. */
function leftOutWords({ progress, leftOut }: ImportRecord): string {
  if (progress.skipped === 0) return '';
  const reasons = leftOut.slice(0, 3).map(({ message, rows }) => `${message} (${rows} rows)`);
  return ` (${progress.skipped} were left out: ${reasons.join('; ')})`;
}

/** The name of the dataset that is made of a source: without its extensions, with `.jsonl`. */
function nameAfter({ kind, name }: ImportSource): string {
  const stem = basename(name).replace(/\.gz$/i, '');
  const bare = stem.replace(/\.(jsonl?|ndjson|csv|tsv|txt|parquet|arrow|feather|ipc)$/i, '');
  return `${bare}${kind === 'dataset' ? '-converted' : ''}.jsonl`;
}
