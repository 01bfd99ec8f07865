import type { Config } from '../config.ts';
import type { AccessKeys } from '../domain/access/access-keys.ts';
import { type Budgets, createBudgets } from '../domain/budgets/budgets.ts';
import type { Datasets } from '../domain/datasets/datasets.ts';
import { datasetName } from '../domain/datasets/files/dataset-name.ts';
import type { Jobs } from '../domain/jobs/jobs.ts';
import type { Planner } from '../domain/training/estimate/planner.ts';
import type { Records } from './records.ts';

/** The budgets of access keys. */
export function composeBudgets(
  { jobsDir, modelsDir, limits }: Config,
  { store, frames }: Records,
  parts: { keys: AccessKeys; jobs: Jobs; planner: Planner; datasets: Datasets },
): Budgets {
  const { keys, jobs, planner, datasets } = parts;
  return createBudgets({
    keyUses: store.keyUses,
    frames,
    keys,
    jobs,
    planner,
    jobsDir,
    modelsDir,
    everyMs: limits.budgetMs,
    dataset(name) {
      const found = datasets.find(name);
      return { name: found?.name ?? datasetName(name), isThere: found !== null };
    },
  });
}
