import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { refusalOf } from '../../../faults.ts';
import type { HubAccess } from '../../../hub/access.ts';
import type { HubDatasetFile } from '../../../hub/dataset-files.ts';
import { checkRoom } from '../../machine/disk-room.ts';
import { importPrefix } from '../files/import-note.ts';
import { isUnreadable } from './check-start.ts';
import { downloadFiles, downloadFolder, keptBytes, pathsIn } from './hub-download.ts';
import { type HubWanted, hubSplit } from './hub-split.ts';
import type { ImportEntries, ImportEntry } from './import-entries.ts';
import type { ImportRecord } from './import-record.ts';
import type { ImportSteps } from './import-steps.ts';

/** Minimum interval between progress frames of a download. */
const progressIntervalMs = 250;

/** @returns a function that downloads a dataset of the hub and proposes its import, as `Imports.fromHub`. */
export function createHubImport(
  options: { readonly datasetsDir: string; readonly hub: HubAccess; readonly limitBytes: number },
  entries: ImportEntries,
  open: ImportSteps['open'],
): (wanted: HubWanted) => Promise<ImportRecord> {
  const { datasetsDir, hub, limitBytes } = options;

  /** Downloads the files of a split, with progress. */
  async function download(entry: ImportEntry, repo: string, files: readonly HubDatasetFile[]): Promise<void> {
    const { record, controller, folder, paths } = entry;
    let toldAt = 0;
    await mkdir(folder, { recursive: true });
    await downloadFiles(hub, { repo, files, paths, signal: controller.signal }, (bytes) => {
      record.progress.doneBytes += bytes;
      if (performance.now() - toldAt < progressIntervalMs) return;
      toldAt = performance.now();
      entries.change(record, {});
    });
  }

  /** The folder of a download with what an earlier one left; another while an import has it. */
  function folderFor(name: string | null): string {
    const folder = join(datasetsDir, name ?? importPrefix + randomUUID());
    const other = entries.list().find((entry) => entry.folder === folder);
    if (other === undefined) return folder;
    if (other.record.state !== 'completed' && !isUnreadable(other.record)) return folderFor(null);
    void entries.forget(other, true);
    return folder;
  }

  return async (wanted) => {
    const { repo } = wanted;
    const files = await hubSplit(hub, wanted);
    const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
    if (sizeBytes > limitBytes) {
      throw refusalOf('hub', `"${repo}" has ${sizeBytes} bytes, more than the ${limitBytes} of an import`);
    }
    const name = downloadFolder(files);
    const kept = name === null ? [] : await keptBytes(files, pathsIn(join(datasetsDir, name), files));
    await checkRoom(datasetsDir, sizeBytes - kept.reduce((sum, bytes) => sum + bytes, 0));
    const folder = folderFor(name);
    const source = { kind: 'hub' as const, name: repo, sizeBytes };
    return open(source, folder, pathsIn(folder, files), (entry) => download(entry, repo, files)).record;
  };
}
