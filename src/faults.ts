import { AppError, type FieldIssue, inSentences } from './errors.ts';

/** Collects errors, so that all of them can be reported at once. */
export interface Faults {
  /** Adds an error for a field. */
  add(field: string, msg: string): void;
  /**
   * Runs a check and records its `invalid` or `not_found` error for `field`; other errors are thrown.
   * @returns its result, or `null` after an error.
   */
  of<T>(field: string, judge: () => T | Promise<T>): Promise<T | null>;
  /** All errors. */
  issues(): FieldIssue[];
  /** @throws AppError the original error if there is only one, else `invalid` with all of them. */
  raise(): void;
}

const faultOf = (field: string, msg: string): FieldIssue => ({
  loc: ['body', field],
  msg,
  type: 'value_error',
});

export function createFaults(): Faults {
  const refusals: AppError[] = [];
  const issuesOf: FieldIssue[][] = [];
  const note = (field: string, error: AppError) => {
    refusals.push(error);
    issuesOf.push(error.issues.length > 0 ? [...error.issues] : [faultOf(field, error.message)]);
  };
  return {
    add: (field, msg) => note(field, refusal([faultOf(field, msg)])),
    async of(field, judge) {
      try {
        return await judge();
      } catch (error) {
        if (!(error instanceof AppError) || (error.kind !== 'invalid' && error.kind !== 'not_found'))
          throw error;
        const { kind, message, cause, details } = error;
        const issues = error.issues.map((issue) => ({ ...issue, loc: ['body', field] }));
        note(field, new AppError(kind, message, { cause, details, issues }));
        return null;
      }
    },
    issues: () => issuesOf.flat(),
    raise() {
      const [first, second] = refusals;
      if (first === undefined) return;
      throw second === undefined ? first : refusal(issuesOf.flat());
    },
  };
}

/** The error for a request with invalid fields. */
export const refusal = (issues: readonly FieldIssue[]): AppError =>
  new AppError('invalid', inSentences(issues.map(({ msg }) => msg)), { issues });

/** The error for a request with one invalid field. */
export const refusalOf = (field: string, msg: string): AppError => refusal([faultOf(field, msg)]);
