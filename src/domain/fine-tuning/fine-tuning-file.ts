/** A file of `/v1/files`: a dataset, the results of a job, or rows for evals. */
export interface FineTuningFile {
  readonly id: string;
  readonly filename: string;
  readonly purpose: 'fine-tune' | 'fine-tune-results' | 'evals';
  readonly bytes: number;
  /** ISO 8601, as `expiresAt`. */
  readonly createdAt: string;
  readonly expiresAt: string | null;
  /** Why it cannot be trained on; `null` if it can. */
  readonly fault: string | null;
}
