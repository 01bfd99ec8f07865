import { AppError } from '../../errors.ts';
import { type Job, jobName } from '../job-record/job.ts';
import type { Started } from '../jobs/changes/start-job.ts';
import type { Planner } from '../training/estimate/planner.ts';
import type { TrainingRequest } from '../training/training-request.ts';
import { createLedger, type Used } from './ledger.ts';
import { type WatchedRuns, watchRuns } from './watch-runs.ts';

/** Whose key a request presents; `null` where it does not matter. */
export type Client = { readonly id: string; readonly name: string; readonly scope: string } | null;

/** What clients may do whose key has a budget: at its limit their runs are saved and stopped. All others may do everything. */
export interface Budgets {
  /** As `Jobs.start`. @throws AppError `forbidden` when the budget is used up, or has less disk space left than the run needs. */
  start(client: Client, request: TrainingRequest): Promise<Started>;
  /** As `Jobs.resume`. @throws AppError `forbidden` for a run of others, or when the budget is used up. */
  resume(client: Client, id: number, options: { readonly queue?: boolean }): Promise<Job>;
  /** @throws AppError `forbidden` for a run of others. */
  checkOwn(client: Client, id: number): void;
  /**
   * Adds rows with `work`.
   * @param bytes what they take.
   * @throws AppError `forbidden` for a dataset of others, or when they do not fit.
   */
  addRows<R>(client: Client, dataset: string, bytes: number, work: () => Promise<R>): Promise<R>;
  /** What a key has used; of runs that are going, up to the last look at them. */
  usedBy(keyId: string): Used;
  close(): void;
}

const unused = { minutes: 0, energyWh: 0, bytes: 0 };
/** What the runs that there are may still reach. */
const lasting = ['minutes', 'energy_wh', 'disk_mb'] as const;

export function createBudgets(
  options: WatchedRuns & {
    readonly planner: Pick<Planner, 'plan'>;
    /** The name that a dataset has, or would get, and whether it is there. */
    readonly dataset: (name: string) => { readonly name: string; readonly isThere: boolean };
  },
): Budgets {
  const { keyUses, keys, jobs } = options;
  const ledger = createLedger(keyUses, keys);
  const close = watchRuns(options, ledger);

  const isBounded = (client: Client): client is NonNullable<Client> => client?.scope === 'train';

  function checkOwn(client: Client, id: number): void {
    if (!isBounded(client) || keyUses.get('run', String(id))?.keyId === client.id) return;
    throw new AppError('forbidden', `The access key "${client.name}" has not started ${jobName(id)}.`);
  }

  return {
    async start(client, request) {
      if (!isBounded(client)) return jobs.start(request);
      if (ledger.checkLeft(client).disk_mb !== undefined) {
        const { fine } = await options.planner.plan(request);
        if (fine !== null) ledger.checkDisk(client, fine.disk.totalBytes);
      }
      return jobs.start(request, ({ id }) => {
        // Again, in the transaction: requests may come at the same time.
        ledger.checkLeft(client);
        keyUses.put({ ...unused, keyId: client.id, kind: 'run', ref: String(id) });
      });
    },
    async resume(client, id, given) {
      checkOwn(client, id);
      if (isBounded(client)) ledger.checkLeft(client, lasting);
      return jobs.resume(id, given);
    },
    checkOwn,
    async addRows(client, asked, bytes, work) {
      if (!isBounded(client)) return work();
      const { name: ref, isThere } = options.dataset(asked);
      const known = keyUses.get('dataset', ref);
      const own = known?.keyId === client.id ? known : null;
      if (isThere && own === null)
        throw new AppError('forbidden', `The access key "${client.name}" has not made the dataset ${ref}.`);
      ledger.checkDisk(client, bytes);
      const before = own?.bytes ?? 0;
      const note = (now: number) =>
        keyUses.put({ ...unused, keyId: client.id, kind: 'dataset', ref, bytes: now });
      // First, or several requests at once would have the same room.
      note(before + bytes);
      return work().catch((error) => {
        if (known === null) keyUses.remove('dataset', ref);
        else note(before);
        throw error;
      });
    },
    usedBy: ledger.usedBy,
    close,
  };
}
