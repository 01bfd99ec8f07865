import type { EventStore } from '../../db/tables/events.ts';

/** Steps that are looked at: the loss of the last one is `null` if it was not finite, which ends a run. */
const lookedAt = 2;

/**
 * The figures of a run that may not have completed: its latest loss, and its latest evaluation, which is not that of the
 * base model. `null` before the first of them.
 */
export function reachedFigures(
  events: Pick<EventStore, 'bySeq' | 'lastSteps'>,
  id: number,
): Readonly<Record<string, number | null>> | null {
  const last = (kind: string, count: number) => events.bySeq(events.lastSteps(id, kind, count));
  const trained = last('train', lookedAt).findLast(({ payload }) => payload.loss != null);
  const evaluated = last('eval', 1).find(({ payload }) => payload.step !== 0);
  if (trained === undefined && evaluated === undefined) return null;
  const loss = trained === undefined ? {} : { final_loss: trained.payload.loss as number };
  return { ...loss, ...(evaluated?.payload.metrics as Record<string, number | null> | undefined) };
}
