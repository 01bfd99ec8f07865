/** What went wrong, in terms of the domain; each API face spells it in its own way. */
export type ErrorKind =
  | 'invalid'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'too_large'
  | 'unavailable'
  | 'upstream'
  | 'disk_full'
  | 'internal';

/** One field that was refused, named by its path within the request. */
export interface FieldIssue {
  readonly loc: readonly string[];
  readonly msg: string;
  readonly type: string;
}

/**
 * The one error that crosses rooms. `message` is written for the user: what happened, why, what to do next.
 * `upstream` means that the model hub did not answer or failed; `unavailable` that a part of this machine
 * (the trainer's environment, the addon) is missing or busy.
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

/** Turns anything thrown into an AppError; a full disk is told apart from other internal failures. */
export function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const code = (thrown as NodeJS.ErrnoException | null)?.code;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  if (code === 'ENOSPC' || code === 'SQLITE_FULL' || code === 'EDQUOT') {
    return new AppError('disk_full', `The disk is full: ${text}. Free some space and try again.`, {
      cause: thrown,
    });
  }
  return new AppError('internal', text, { cause: thrown });
}
