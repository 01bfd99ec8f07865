import { AppError } from '../../errors.ts';

/**
 * Runs `work` and reports a refused value under the name that the client used.
 * @param loc `body` or `path`, and the field.
 */
export async function underName<T>(loc: readonly string[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.issues.length === 0) throw error;
    throw new AppError(error.kind, error.message, {
      cause: error.cause,
      issues: error.issues.map((issue) => ({ ...issue, loc })),
      details: error.details,
    });
  }
}
