import type { Config } from '../config.ts';
import { type Bin, createBin } from '../domain/bin/bin.ts';
import type { Records } from './records.ts';

/** The bin. What it deletes for good must be possible on a full disk. */
export function composeBin(
  { dataDir, limits }: Config,
  { store, frames, reserve, notice }: Records,
  onPurged: () => Promise<void>,
): Bin {
  const bin = createBin({
    store,
    frames,
    dataDir,
    onPurged,
    isBackup: notice !== null,
    keptMs: limits.binMs,
    maxBytes: limits.binBytes,
  });
  return { ...bin, purge: reserve.around(bin.purge), empty: reserve.around(bin.empty) };
}
