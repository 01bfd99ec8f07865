import { rmSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { sweepStates } from '../../contract/sweeps.ts';
import type { SweepRow, SweepStore, TrialRow } from '../../db/tables/sweeps.ts';
import { readRecords, writeRecord } from '../job-record/record-files.ts';
import { sweepName } from './sweep.ts';

/*
 * Beside the folders of jobs, what the database says of a sweep, for when the database is lost.
 */

const file = v.object({
  sweep: v.object({
    id: v.pipe(v.number(), v.integer(), v.minValue(1)),
    state: v.picklist(sweepStates),
    request: v.looseObject({}),
    space: v.looseObject({}),
    trials: v.number(),
    metric: v.string(),
    direction: v.string(),
    culling: v.boolean(),
    seed: v.number(),
    createdAt: v.string(),
    endedAt: v.nullable(v.string()),
    error: v.nullable(v.string()),
  }),
  trials: v.array(
    v.object({
      sweepId: v.number(),
      number: v.number(),
      jobId: v.number(),
      parameters: v.looseObject({}),
      culled: v.boolean(),
      resumed: v.number(),
    }),
  ),
});

const pathOf = (jobsDir: string, id: number) => join(jobsDir, `${sweepName(id)}.json`);

/**
 * The table of sweeps, each of whose changes is also written to the sweep's file.
 * @param onProblem called when a file cannot be written, as on a full disk; the change itself is stored.
 */
export function withFiles(
  store: SweepStore,
  jobsDir: string,
  onProblem: (id: number, error: Error) => void,
): SweepStore {
  function write(id: number): void {
    const sweep = store.get(id);
    if (sweep === null) return;
    try {
      writeRecord(pathOf(jobsDir, id), { sweep, trials: store.trials(id) });
    } catch (error) {
      onProblem(id, error as Error);
    }
  }
  function writeTrial(jobId: number, change: () => void): void {
    const trial = store.trialOf(jobId);
    change();
    if (trial !== null) write(trial.sweepId);
  }
  return {
    ...store,
    insert(sweep) {
      const id = store.insert(sweep);
      write(id);
      return id;
    },
    setState(id, state, endedAt, error) {
      store.setState(id, state, endedAt, error);
      write(id);
    },
    remove(id) {
      store.remove(id);
      rmSync(pathOf(jobsDir, id), { force: true });
    },
    putTrial(trial) {
      store.putTrial(trial);
      write(trial.sweepId);
    },
    setCulled: (jobId) => writeTrial(jobId, () => store.setCulled(jobId)),
    setResumed: (jobId, resumed) => writeTrial(jobId, () => store.setResumed(jobId, resumed)),
    removeTrial: (jobId) => writeTrial(jobId, () => store.removeTrial(jobId)),
  };
}

/** Stores the sweeps that have files, as those say. @returns their names, and the files that could not be read. */
export const registerSweeps = (store: SweepStore, jobsDir: string) =>
  readRecords(jobsDir, /^sweep_[1-9]\d{0,14}\.json$/, (content, name) => {
    const { sweep, trials } = v.parse(file, content);
    if (name !== sweepName(sweep.id)) throw new Error(`it is that of ${sweepName(sweep.id)}`);
    store.put(sweep satisfies SweepRow, trials satisfies TrialRow[]);
  });
