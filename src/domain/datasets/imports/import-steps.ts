import { rm } from 'node:fs/promises';
import type { ImportMapping } from '../../../trainer/import-rows.ts';
import type { TrainerCommand } from '../../../trainer/processes/supervisor.ts';
import type { Dataset } from '../dataset.ts';
import type { Datasets } from '../datasets.ts';
import type { ImportEntries, ImportEntry } from './import-entries.ts';
import type { ImportSource } from './import-record.ts';
import { proposeImport, runImport } from './import-run.ts';

export interface StartOptions {
  /** `null` for what is proposed. */
  readonly mapping: ImportMapping | null;
  /** The dataset's file name, replacing one of that name; `null` for a free one after the source's. */
  readonly name: string | null;
  readonly skipInvalid: boolean;
}

/** The steps of an import, whose outcome is in its record. None rejects. */
export interface ImportSteps {
  /** Remembers an import, prepares its source, and proposes how it is imported. */
  open(
    source: ImportSource,
    folder: string,
    paths: readonly string[],
    prepare?: (entry: ImportEntry) => Promise<void>,
  ): ImportEntry;
  /**
   * @param mapping `null` for that of the detected shape.
   * @param rowsAt the list that has the rows, by default the one before.
   */
  propose(entry: ImportEntry, mapping: ImportMapping | null, rowsAt?: string): Promise<void>;
  /** @returns the dataset, or `null` if it failed. */
  run(entry: ImportEntry, options: StartOptions): Promise<Dataset | null>;
}

export interface ImportStepsOptions {
  readonly datasets: Datasets;
  readonly command: TrainerCommand;
  readonly limitBytes: number;
  readonly version: string;
}

export function createImportSteps(
  options: ImportStepsOptions,
  { add, change, fail }: ImportEntries,
): ImportSteps {
  const { datasets, command, limitBytes, version } = options;

  const workOf = ({ paths, folder, controller, record }: ImportEntry) => ({
    command,
    paths,
    scratch: folder,
    limitBytes,
    signal: controller.signal,
    rowsAt: record.proposal?.rows_at ?? null,
  });

  async function propose(
    entry: ImportEntry,
    mapping: ImportMapping | null,
    {
      prepare,
      rowsAt,
    }: { prepare?: ((entry: ImportEntry) => Promise<void>) | undefined; rowsAt?: string | undefined } = {},
  ): Promise<void> {
    const { record } = entry;
    try {
      await prepare?.(entry);
      const work = workOf(entry);
      const proposal = await proposeImport({ ...work, rowsAt: rowsAt ?? work.rowsAt }, mapping);
      const found = { problems: [], totalProblems: 0, leftOut: [], error: null };
      change(record, { proposal, state: 'proposed', ...found });
    } catch (error) {
      fail(record, error);
    }
  }

  return {
    open(source, folder, paths, prepare) {
      const entry = add(source, folder, paths);
      entry.work = propose(entry, null, { prepare });
      return entry;
    },

    propose: (entry, mapping, rowsAt) => propose(entry, mapping, { rowsAt }),

    async run(entry, { mapping, name, skipInvalid }) {
      const { record } = entry;
      try {
        const dataset = await runImport(workOf(entry), record, {
          mapping: mapping ?? record.proposal?.mapping ?? null,
          name,
          skipInvalid,
          version,
          datasets,
          onProgress: () => change(record, {}),
        });
        // First, so that nothing is left when its end is told. What cannot be deleted now is when the service starts.
        await rm(entry.folder, { recursive: true, force: true }).catch(() => undefined);
        change(record, { state: 'completed', dataset: dataset.name });
        return dataset;
      } catch (error) {
        fail(record, error);
        return null;
      }
    },
  };
}
