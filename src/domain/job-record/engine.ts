import type { LineOf } from '../../contract/journal.ts';
import type { Job } from './job.ts';

/** What the workers of a run train on: one process, several on this machine, or nodes of a cluster. */
export interface Engine {
  readonly name: 'single' | LineOf<'engine'>['name'];
  /** The workers of each of the cluster's nodes, by address; `null` if it is not a cluster. */
  readonly nodes: LineOf<'engine'>['nodes'];
}

/** What a job trains on, or did when it was last started; `null` until a job with several workers has begun. */
export function engineOf({ spec }: Pick<Job, 'spec'>): Engine | null {
  const { settings, engine = null } = (spec ?? {}) as {
    readonly settings?: { readonly workers?: number };
    readonly engine?: Engine;
  };
  if (settings === undefined) return null;
  return (settings.workers ?? 1) === 1 ? { name: 'single', nodes: null } : engine;
}

/** What a run trains on, in words that follow "training". */
export function engineWords({ name, nodes }: Engine): string {
  if (name !== 'cluster') return 'on this machine';
  const found = Object.entries(nodes ?? {});
  const each = found.map(([address, workers]) => `${address} with ${workers}`).join(', ');
  return `on ${found.length === 1 ? 'one node' : `${found.length} nodes`} of the cluster (workers: ${each})`;
}
