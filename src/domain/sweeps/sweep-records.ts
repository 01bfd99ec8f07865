import { settings } from '../../contract/settings.ts';
import { directionOf, type SweepState } from '../../contract/sweeps.ts';
import type { Store } from '../../db/store.ts';
import type { NewSweep } from '../../db/tables/sweeps.ts';
import { AppError } from '../../errors.ts';
import type { Deletion } from '../bin/bin.ts';
import type { Emit, FrameLog } from '../events/frame-log.ts';
import type { Graders } from '../graders/graders.ts';
import { isUnfinished } from './next-step.ts';
import { bestOf, readSweep, type Sweep, sweepName } from './sweep.ts';
import { withFiles } from './sweep-file.ts';
import { type SweepRequest, sharedRequest, spaceOf, withFrozenGraders } from './sweep-request.ts';

/** The stored sweeps with their files. Every change of state is published. */
export interface SweepRecords {
  readonly store: Store;
  /** Newest first. */
  list(): Sweep[];
  /** @throws AppError `not_found`. */
  get(id: number): Sweep;
  isRunning(id: number): boolean;
  /** The IDs of those that run, newest first. */
  running(): number[];
  add(request: SweepRequest): number;
  /** Tells how far a sweep is, after a change of it. */
  publish(id: number, change?: () => void): void;
  end(id: number, state: Exclude<SweepState, 'running'>, error?: string | null): void;
  /** How one is deleted, without its jobs. */
  deletion(sweep: Sweep): Deletion;
  /** Called in the transaction that restores one, after its jobs. */
  restored(id: number, emit: Emit): void;
}

export interface SweepRecordsOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly graders: Pick<Graders, 'get'>;
  /** The folder of the jobs' folders, which also has a file of each sweep. */
  readonly jobsDir: string;
  readonly logger: { warn(fields: object, text: string): void };
}

export function createSweepRecords({
  frames,
  logger,
  graders,
  ...options
}: SweepRecordsOptions): SweepRecords {
  const sweepTable = withFiles(options.store.sweeps, options.jobsDir, (id, { message }) =>
    logger.warn({ sweep: sweepName(id), error: message }, 'The file of a sweep could not be written'),
  );
  const store: Store = { ...options.store, sweeps: sweepTable };

  function get(id: number): Sweep {
    const row = store.sweeps.get(id);
    if (row === null) throw new AppError('not_found', `There is no sweep ${sweepName(id)}.`);
    return readSweep(row, store);
  }

  function publish(id: number, change: () => void = () => {}): void {
    frames.commit((emit) => {
      change();
      tell(id, emit);
    });
  }

  function tell(id: number, emit: Emit): void {
    const sweep = get(id);
    emit('sweep', null, {
      sweep_id: sweep.name,
      state: sweep.state,
      trials: sweep.trials,
      ended: sweep.trialsDone.filter(({ job }) => job === null || !isUnfinished(job.state)).length,
      best_value: bestOf(sweep)?.value ?? null,
    });
  }

  return {
    store,
    list: () => store.sweeps.list().map((row) => readSweep(row, store)),
    get,
    isRunning: (id) => store.sweeps.get(id)?.state === ('running' satisfies SweepState),
    running: () =>
      store.sweeps
        .list()
        .filter(({ state }) => state === ('running' satisfies SweepState))
        .map(({ id }) => id),

    add(request) {
      const id = store.sweeps.insert(newSweep(request, graders));
      publish(id);
      return id;
    },

    publish,
    end: (id, state, error = null) =>
      publish(id, () => store.sweeps.setState(id, state, new Date().toISOString(), error)),

    restored(id, emit) {
      const { state, endedAt, error } = get(id);
      // Writes its file again.
      store.sweeps.setState(id, state, endedAt, error);
      tell(id, emit);
    },

    deletion: ({ id, name }) => ({
      kind: 'sweep',
      ref: name,
      name,
      rows: [
        { table: 'sweeps', column: 'id', value: id },
        { table: 'sweep_trials', column: 'sweep_id', value: id },
      ],
      remove(emit) {
        store.sweeps.remove(id);
        emit('sweep', null, { sweep_id: name, state: 'deleted' });
      },
    }),
  };
}

function newSweep(request: SweepRequest, graders: Pick<Graders, 'get'>): NewSweep {
  const { trials, metric, culling } = request;
  return {
    state: 'running' satisfies SweepState,
    request: withFrozenGraders(sharedRequest(request), graders),
    space: spaceOf(request.space),
    trials,
    metric,
    culling,
    direction: request.direction ?? directionOf(metric),
    seed: request.seed ?? settings.seed.recommended,
    createdAt: new Date().toISOString(),
  };
}
