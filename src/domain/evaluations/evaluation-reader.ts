import type { EvaluationRow, EvaluationStore } from '../../db/tables/evaluations.ts';
import { AppError } from '../../errors.ts';
import { type Evaluation, evaluationName, type Progress } from './evaluation.ts';

/** Stored evaluations with what is known of one that runs, which is not stored. */
export interface EvaluationReader {
  /** Newest first. */
  list(): Evaluation[];
  /** @throws AppError `not_found`. */
  get(id: number): Evaluation;
  progress(id: number, progress: Progress): void;
  warning(id: number, message: string): void;
  /** Forgets what is known of one that ran. @returns its warnings. */
  forget(id: number): string[];
}

export function createEvaluationReader(table: EvaluationStore): EvaluationReader {
  const progressOf = new Map<number, Progress>();
  const warningsOf = new Map<number, string[]>();

  const withProgress = (row: EvaluationRow): Evaluation => ({
    ...(row as Evaluation),
    progress: progressOf.get(row.id) ?? null,
  });

  function get(id: number): Evaluation {
    const row = table.get(id);
    if (row === null) throw new AppError('not_found', `There is no evaluation ${evaluationName(id)}.`);
    return withProgress(row);
  }

  return {
    list: () => table.list().map(withProgress),
    get,
    progress: (id, progress) => progressOf.set(id, progress),
    warning: (id, message) => warningsOf.set(id, [...(warningsOf.get(id) ?? []), message]),

    forget(id) {
      const warnings = warningsOf.get(id) ?? [];
      progressOf.delete(id);
      warningsOf.delete(id);
      return warnings;
    },
  };
}
