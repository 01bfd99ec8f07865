/** Kinds of errors; each API set has its own format for them. */
export type ErrorKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'too_large'
  | 'too_many'
  | 'unavailable'
  | 'upstream'
  | 'disk_full'
  | 'internal';

/** An invalid field, named by its path in the request. */
export interface FieldIssue {
  readonly loc: readonly string[];
  readonly msg: string;
  readonly type: string;
}

/**
 * The error class shared by all rooms. `message` is for the user: what happened, why, and what to do. `unauthorized` means
 * that a key is missing or wrong, `too_many` that too many wrong ones came or too many requests wait
 * (`details.retryAfterSeconds`), `upstream` that the model hub failed, `unavailable` that a local component (the trainer's
 * environment, the addon) is missing or busy.
 */
export class AppError extends Error {
  readonly kind: ErrorKind;
  readonly issues: readonly FieldIssue[];
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    kind: ErrorKind,
    message: string,
    options: { cause?: unknown; issues?: readonly FieldIssue[]; details?: Record<string, unknown> } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'AppError';
    this.kind = kind;
    this.issues = options.issues ?? [];
    this.details = options.details ?? {};
  }
}

/** Joins several messages as sentences; returns a single one unchanged. */
export const inSentences = (messages: readonly string[]): string =>
  messages.length === 1
    ? (messages[0] as string)
    : messages.map((message) => (/[.!?]$/.test(message) ? message : `${message}.`)).join(' ');

/** The last one is for the shared memory file beside a database. */
const fullDiskCodes = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE']);

/** Converts anything thrown to an AppError; a full disk gets its own kind. */
export function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const code = (thrown as NodeJS.ErrnoException | null)?.code;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  if (code !== undefined && fullDiskCodes.has(code)) {
    return new AppError('disk_full', `The disk is full: ${text}. Free some space and try again.`, {
      cause: thrown,
    });
  }
  return new AppError('internal', text, { cause: thrown });
}
