import { setImmediate as pause } from 'node:timers/promises';
import type { NativeDuplicates } from '../../native/addon.ts';
import type { Datasets } from '../datasets/datasets.ts';
import type { FrameLog } from '../events/frame-log.ts';

interface Found {
  readonly duplicates: NativeDuplicates;
}

/** The analyses of datasets as they are stored, one at a time in the background. */
export interface StoredAnalyses<Analysis> {
  /** What was found in a dataset as it is now, as soon as that is known; `null` if nothing looks for it. */
  of(name: string): Promise<Analysis | null>;
  /** In how many rows something was found, each counted once for everything; `null` while that is not known. */
  findings(name: string): number | null;
}

/** Larger datasets are analysed when their page is opened. */
const largestBytes = 100e6;
/** An analysis holds a few dozen rows. */
const mostKept = 1000;

/** @param analyse looks for duplicates, empty answers and white space. */
export function createStoredAnalyses<Analysis extends Found>(options: {
  readonly datasets: Datasets;
  readonly frames: FrameLog;
  readonly analyse: (name: string, signal: AbortSignal) => Promise<Analysis>;
}): StoredAnalyses<Analysis> {
  const { datasets, frames, analyse } = options;
  const known = new Map<string, { readonly version: string; readonly analysis: Analysis }>();
  const waiting = new Set<string>();
  let current: { name: string; stop: AbortController; end: Promise<unknown> } | null = null;

  datasets.onChange((name) => {
    known.delete(name);
    waiting.delete(name);
    if (current?.name === name) current.stop.abort();
    const dataset = datasets.find(name);
    if (dataset?.name !== name || !dataset.validation.valid || dataset.sizeBytes > largestBytes) return;
    waiting.add(name);
    next();
  });

  function next(): void {
    const [name] = waiting;
    if (current !== null || name === undefined) return;
    waiting.delete(name);
    const stop = new AbortController();
    const end = look(name, stop.signal)
      // The page asks for it again, and tells why it cannot be had.
      .catch(() => {})
      .finally(() => {
        current = null;
        next();
      });
    current = { name, stop, end };
  }

  async function look(name: string, signal: AbortSignal): Promise<void> {
    // After the answer to what has stored it.
    await pause();
    const version = await datasets.version(name);
    const analysis = await analyse(name, signal);
    if (signal.aborted || (await datasets.version(name)) !== version || signal.aborted) return;
    known.set(name, { version, analysis });
    for (const oldest of known.keys()) if (known.size > mostKept) known.delete(oldest);
    frames.send('analysis', null, { dataset: name, what: 'duplicates', done: 1, total: 1 });
  }

  return {
    async of(asked) {
      const { name } = datasets.get(asked);
      if (current?.name === name) await current.end;
      const found = known.get(name);
      if (found === undefined) return null;
      return (await datasets.version(name)) === found.version ? found.analysis : null;
    },
    findings(name) {
      const found = known.get(name)?.analysis.duplicates;
      return found === undefined ? null : found.exact + found.near + found.empty + found.padded;
    },
  };
}
