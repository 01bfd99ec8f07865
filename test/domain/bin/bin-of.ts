import type { Store } from '../../../src/db/store.ts';
import { type Bin, type BinOptions, createBin } from '../../../src/domain/bin/bin.ts';
import type { FrameLog } from '../../../src/domain/events/frame-log.ts';

/** The bin of a data directory. */
export const binOf = (store: Store, frames: FrameLog, dataDir: string, more: Partial<BinOptions> = {}): Bin =>
  createBin({
    ...{ store, frames, dataDir, isBackup: false, keptMs: 60_000, maxBytes: null },
    onPurged: async () => undefined,
    ...more,
  });
