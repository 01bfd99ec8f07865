/** A fault that was planted, and the first test file that noticed it: one that starts no process, or one that does. */
export interface Outcome {
  readonly file: string;
  readonly line: number;
  /** The line, and what became of it. */
  readonly fault: string;
  readonly byUnit: string | null;
  readonly byProcess: string | null;
}
