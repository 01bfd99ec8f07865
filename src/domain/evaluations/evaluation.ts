import type { EvaluationState } from '../../contract/evaluations.ts';
import type { Phase } from '../../contract/jobs.ts';
import type { EvaluationRow } from '../../db/tables/evaluations.ts';
import type { Subject } from './subject.ts';

/** A dataset that was, is being, or will be scored. */
export interface Evaluation extends EvaluationRow {
  readonly state: EvaluationState;
  readonly subject: Subject;
  /** How far it is while it runs. */
  readonly progress: Progress | null;
}

/** The phase of a run, and how much of it is done (0 to 1). */
export interface Progress {
  readonly phase: Phase;
  readonly share: number | null;
  readonly detail: string | null;
}

export const evaluationName = (id: number): string => `eval_${id}`;
