/** A file of `/v1/files`: a dataset, or the results of a job. */
export interface FineTuningFile {
  readonly id: string;
  readonly filename: string;
  readonly purpose: 'fine-tune' | 'fine-tune-results';
  readonly bytes: number;
  /** ISO 8601, as `expiresAt`. */
  readonly createdAt: string;
  readonly expiresAt: string | null;
  /** Why it cannot be trained on; `null` if it can. */
  readonly fault: string | null;
}
