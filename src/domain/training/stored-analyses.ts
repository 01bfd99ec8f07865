import { setImmediate as pause } from 'node:timers/promises';
import { analysedBytes } from '../../contract/rows.ts';
import type { DatasetStore } from '../../db/tables/datasets.ts';
import type { NativeDuplicates } from '../../native/addon.ts';
import type { Datasets } from '../datasets/datasets.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { isShort } from '../machine/disk-room.ts';

interface Found {
  readonly duplicates: NativeDuplicates;
}

/** The analyses of datasets as they are stored, one at a time in the background, kept until a dataset's rows are others. */
export interface StoredAnalyses<Analysis> {
  /** What was found in a dataset as it is now, as soon as that is known; `null` if nothing looks for it. */
  of(name: string): Promise<Analysis | null>;
  /** Looks, and keeps what was found. @param work looks for it. */
  keeping(name: string, work: () => Promise<Analysis>): Promise<Analysis>;
}

/** @param analyse looks for duplicates, empty answers and white space. */
export function createStoredAnalyses<Analysis extends Found>(options: {
  readonly datasets: Datasets;
  readonly store: Pick<DatasetStore, 'analysis' | 'keepAnalysis'>;
  readonly frames: FrameLog;
  readonly dataDir: string;
  readonly analyse: (name: string, signal: AbortSignal) => Promise<Analysis>;
}): StoredAnalyses<Analysis> {
  const { datasets, store, frames, dataDir, analyse } = options;
  const waiting = new Set<string>();
  let current: { name: string; stop: AbortController; end: Promise<unknown> } | null = null;

  datasets.onChange((name) => {
    waiting.delete(name);
    if (current?.name === name) current.stop.abort();
    const dataset = datasets.find(name);
    if (dataset?.name !== name || dataset.findings !== null) return;
    if (!dataset.validation.valid || dataset.sizeBytes > analysedBytes) return;
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
    // On a full disk, deletions need the little space that findings take, and that of a file that nothing has open.
    if (await isShort(dataDir)) return;
    await keeping(name, () => analyse(name, signal));
    if (signal.aborted) return;
    frames.send('analysis', null, { dataset: name, what: 'duplicates', done: 1, total: 1 });
  }

  async function keeping(asked: string, work: () => Promise<Analysis>): Promise<Analysis> {
    const { name } = datasets.get(asked);
    const version = await datasets.version(name);
    const analysis = await work();
    const { exact, near, empty, padded } = analysis.duplicates;
    if (!(await isShort(dataDir)) && (await datasets.version(name)) === version)
      store.keepAnalysis(name, { version, analysis }, exact + near + empty + padded);
    return analysis;
  }

  return {
    keeping,
    async of(asked) {
      const { name } = datasets.get(asked);
      if (current?.name === name) await current.end;
      const found = store.analysis(name);
      return found !== null && (await datasets.version(name)) === found.version
        ? (found.analysis as Analysis)
        : null;
    },
  };
}
