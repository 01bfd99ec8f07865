import type { Evaluation } from './evaluation.ts';
import { fits, type Place } from './place.ts';

/** What the queue of evaluations knows when trainings start or end, or an evaluation does. */
export interface QueueState {
  /** Newest first. */
  readonly evaluations: readonly Pick<Evaluation, 'id' | 'state'>[];
  /** Those whose folders are still being written. */
  readonly preparing: ReadonlySet<number>;
  /** The one that runs, with its devices (`null` for the whole machine), and whether it is being stopped. */
  readonly running: { readonly held: readonly number[] | null; readonly isEnding: boolean } | null;
  /** What trainings leave free; `null` for nothing. */
  readonly place: Place | null;
}

export type Decision =
  /** The running one makes room for a training. */
  | { readonly kind: 'yield' }
  /** The oldest that waits starts on the devices `held`. */
  | { readonly kind: 'start'; readonly id: number; readonly held: readonly number[] | null }
  | { readonly kind: 'wait' };

const wait: Decision = { kind: 'wait' };

/** Evaluations run one at a time, the oldest first, where no training needs the devices. */
export function nextDecision({ evaluations, preparing, running, place }: QueueState): Decision {
  if (running !== null) return running.isEnding || fits(running.held, place) ? wait : { kind: 'yield' };
  const next = evaluations.filter(({ id, state }) => state === 'queued' && !preparing.has(id)).at(-1);
  if (next === undefined || place === null) return wait;
  // Trainings take the first devices.
  return { kind: 'start', id: next.id, held: place.free?.slice(-1) ?? null };
}
