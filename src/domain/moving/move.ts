import type { JobHere } from './job-here.ts';
import type { MovedEval, MovedFile } from './moved-records.ts';

export const moveStates = ['idle', 'listing', 'downloading', 'completed', 'failed', 'cancelled'] as const;
export type MoveState = (typeof moveStates)[number];

/** A move, and everything that this and earlier ones brought. */
export interface Move {
  readonly state: MoveState;
  readonly progress: {
    readonly files_done: number;
    readonly files_total: number;
    readonly bytes_done: number;
    readonly bytes_total: number;
  };
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly files: readonly MovedFile[];
  readonly jobs: readonly JobHere[];
  readonly evals: readonly MovedEval[];
}
