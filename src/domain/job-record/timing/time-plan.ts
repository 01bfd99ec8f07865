import type { Phase } from '../../../contract/jobs.ts';

/** What a run is expected to take, as estimated when it starts. */
export interface TimePlan {
  /** The seconds of parts beside steps and evaluations. */
  readonly seconds: Readonly<Partial<Record<PlannedPart, number>>>;
  /** One optimizer step; `null` if the model was not trained here before. */
  readonly stepSeconds: number | null;
  /** One evaluation; `null` if that is unknown. */
  readonly evaluationSeconds: number | null;
  readonly steps: number;
  /** How many evaluations there are after the base model's; 0 without rows to validate on. */
  readonly evaluations: number;
  /** Whether prompts are answered at the last checkpoint: an evaluation of the same step has not done so before. */
  readonly answersAtEnd: boolean;
}

/**
 * What is planned in seconds: the time to the first phase, phases, saving what was trained, and the answers to the prompts
 * at one step where no evaluation has them.
 */
export type PlannedPart = Phase | 'start' | 'save' | 'answers';
