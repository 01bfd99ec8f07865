import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { PassThrough, pipeline } from 'node:stream';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import { type TrainerCommand, trainerEnvironment } from './processes/supervisor.ts';

/** What `python -m trainer import` reads. */
export interface ImportRequest {
  /** Files of one container, in order. */
  readonly paths: readonly string[];
  /** A folder for a compressed Parquet file, which is unpacked. */
  readonly scratch: string;
  /** The most bytes that a gzip file may expand to. */
  readonly limitBytes: number;
  /** `null` for the detected shape. */
  readonly mapping: ImportMapping | null;
  /** Whether to read all rows, and not only propose how. */
  readonly run: boolean;
  readonly skipInvalid: boolean;
  /** The keys of the list of rows, with dots, where one JSON object has several; `null` for the longest. */
  readonly rowsAt: string | null;
}

/** From what the fields of a row shape are made. */
export const importMapping = v.object({
  target: v.string(),
  /** The column of each field that has no template. */
  columns: v.record(v.string(), v.string()),
  /** Of fields, texts with columns in them: `{{Team}}: {{Answer}}`. */
  templates: v.exactOptional(v.record(v.string(), v.string())),
  /** A system prompt of every row, also with columns in it. */
  system: v.exactOptional(v.string()),
  /** The columns that rows keep as `metadata`. */
  metadata: v.exactOptional(v.array(v.string())),
  /** What labels of Hugging Face's datasets become; names by default. */
  labels: v.exactOptional(v.picklist(['names', 'numbers'])),
});
export type ImportMapping = v.InferOutput<typeof importMapping>;

const text = v.nullable(v.string());
/** A reason for which rows do not fit, and how many. */
const leftOut = v.array(v.object({ column: text, message: v.string(), rows: v.number() }));
const count = v.number();
const fault = { line: v.nullable(v.number()), column: text, message: v.string() };

/** What it tells on the way. */
const importEvent = v.variant('event', [
  v.object({
    event: v.literal('proposal'),
    container: v.picklist(['jsonl', 'json', 'csv', 'tsv', 'parquet', 'arrow']),
    /** What the numbers of rows count. */
    unit: v.picklist(['line', 'row']),
    compression: v.nullable(v.literal('gzip')),
    /** The keys of a JSON object under which the rows are, with dots. */
    rows_at: text,
    /** The lists of objects in a JSON object. */
    lists: v.array(v.object({ key: v.string(), rows: count })),
    shape: v.string(),
    target: text,
    mapping: v.nullable(importMapping),
    /** The columns that rows are made of. */
    used: v.array(v.string()),
    /** Whether a field has its column for what its values look like. */
    guessed: v.boolean(),
    columns: v.array(v.object({ name: v.string(), type: v.string() })),
    samples: v.array(v.object({ row: count, before: v.unknown(), after: v.unknown(), problem: text })),
    total_bytes: count,
  }),
  /** Of the first rows, how many fit: `rows` is estimated from them unless `is_exact`. */
  v.object({
    event: v.literal('count'),
    rows: count,
    is_exact: v.boolean(),
    checked: count,
    fit: v.nullable(count),
    left_out: leftOut,
    /** What ends the source before its end. */
    fault: text,
  }),
  v.object({ event: v.literal('problem'), ...fault }),
  v.object({ event: v.literal('progress'), done_bytes: count, rows: count, skipped: count }),
  v.object({ event: v.literal('end'), rows: count, skipped: count, problems: count, left_out: leftOut }),
  v.object({ event: v.literal('failed'), ...fault }),
]);
export type ImportEvent = v.InferOutput<typeof importEvent>;

/** The last lines of a crash that are told. */
const toldLines = 5;

/**
 * Starts a process that reads a dataset of another format. It needs no network and no secrets.
 * @param signal kills it when aborted; then `rows` ends early.
 * @returns its rows as JSONL, which must be read if `run` is set, and its end. `ended` rejects with AppError `internal` if it crashed.
 */
export function readForeignRows(
  command: TrainerCommand,
  request: ImportRequest,
  signal: AbortSignal,
  onEvent: (event: ImportEvent) => void,
): { rows: AsyncIterable<Buffer>; ended: Promise<void> } {
  const child = spawn(command.pythonPath, ['-m', 'trainer', 'import'], {
    cwd: request.scratch,
    env: trainerEnvironment(command, null),
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
  });
  // SIGKILL is safe: it writes no files but in the scratch folder.
  const kill = () => void child.kill('SIGKILL');
  if (signal.aborted) kill();
  signal.addEventListener('abort', kill);
  const crash: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    const event = v.safeParse(importEvent, parsed(line));
    if (event.success) onEvent(event.output);
    else if (crash.push(line) > toldLines) crash.shift();
  });
  // A process that cannot start, or ends at once, does not read its request.
  child.stdin.on('error', () => undefined);
  const { paths, scratch, limitBytes, mapping, run, skipInvalid, rowsAt } = request;
  const fields = { limit_bytes: limitBytes, skip_invalid: skipInvalid, rows_at: rowsAt };
  child.stdin.end(JSON.stringify({ paths, scratch, mapping, run, ...fields }));
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (cause) => reject(broken(cause.message, cause)));
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', kill);
      if (code === 0 || signal.aborted) resolve();
      else reject(broken(crash.join(' ') || `it ended with ${killedBy ?? code}`));
    });
  });
  // Once the process has exited, Node discards what nothing reads yet.
  const rows = pipeline(child.stdout, new PassThrough(), () => undefined);
  if (!run) rows.resume();
  // Whoever awaits it later still gets the error.
  ended.catch(() => undefined);
  return { rows, ended };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

const broken = (why: string, cause?: unknown) =>
  new AppError(
    'internal',
    `The process that reads the dataset failed (${why.slice(0, 500)}). Try again; "npm run doctor" shows what is missing.`,
    { cause },
  );
