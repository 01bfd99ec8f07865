import { asAppError } from '../../errors.ts';
import type { ClusterState } from '../../trainer/cluster.ts';

/** How often the head is asked while nobody looks. */
const unseenMs = 30_000;

/** What the head of the cluster said last. */
export interface SeenCluster extends ClusterState {
  /** When it was asked (ISO 8601); `null` before its first answer. */
  readonly asked_at: string | null;
}

/**
 * The cluster for runs with several workers. Its head is asked in the background, by a process that may take seconds.
 * @param address the head as `HOST:PORT`; `null` without a cluster.
 * @param look asks the head.
 * @param freshMs how old its answer may be before it is asked anew because somebody looks.
 * @returns what is known at once; `null` without a cluster.
 */
export function createClusterView(
  address: string | null,
  look: () => Promise<ClusterState | null>,
  freshMs = 3_000,
): () => SeenCluster | null {
  if (address === null) return () => null;
  const silent = { address, available: false, nodes: [] };
  let seen: SeenCluster = { ...silent, reason: 'The cluster has not answered yet.', asked_at: null };
  let askedAt = 0;
  let asking = false;
  const ask = async () => {
    if (asking) return;
    asking = true;
    askedAt = performance.now();
    const state = await look().catch((error) => ({ ...silent, reason: asAppError(error).message }));
    seen = { ...(state as ClusterState), asked_at: new Date().toISOString() };
    asking = false;
  };
  void ask();
  setInterval(ask, unseenMs).unref();
  return () => {
    if (performance.now() - askedAt > freshMs) void ask();
    return seen;
  };
}
