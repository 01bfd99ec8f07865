import { type Budget, type BudgetFigure, budgetFigureNames, budgetFigures } from '../../contract/access.ts';
import type { KeyUseRow, KeyUseStore } from '../../db/tables/key-uses.ts';
import { AppError } from '../../errors.ts';
import type { AccessKeys, KeyHolder } from '../access/access-keys.ts';

/** What a key has used. */
export type Used = Readonly<Record<BudgetFigure, number>>;

/** The budgets of keys beside what they have used. */
export interface Ledger {
  usedBy(keyId: string): Used;
  /** Which of some figures of a key's budget is reached, in words; `null` if none. */
  reached(holder: Pick<KeyHolder, 'id' | 'budget'>, figures?: readonly BudgetFigure[]): string | null;
  /**
   * Checks that something is left of some figures.
   * @returns the budget.
   * @throws AppError `forbidden`.
   */
  checkLeft(key: Pick<KeyHolder, 'id' | 'name'>, figures?: readonly BudgetFigure[]): Budget;
  /** @throws AppError `forbidden` if less disk space is left. */
  checkDisk(key: Pick<KeyHolder, 'id' | 'name'>, bytes: number): void;
}

export function createLedger(keyUses: KeyUseStore, keys: Pick<AccessKeys, 'holder'>): Ledger {
  const budgetOf = (id: string): Budget => keys.holder(id)?.budget ?? {};

  function usedBy(keyId: string): Used {
    const uses = keyUses.ofKey(keyId);
    const sum = (of: (use: KeyUseRow) => number) => uses.reduce((total, use) => total + of(use), 0);
    return {
      runs: sum(({ kind }) => (kind === 'run' ? 1 : 0)),
      minutes: sum(({ minutes }) => minutes),
      energy_wh: sum(({ energyWh }) => energyWh),
      disk_mb: sum(({ bytes }) => bytes) / 1e6,
    };
  }

  const reached: Ledger['reached'] = ({ id, budget }, figures = budgetFigureNames) => {
    const used = usedBy(id);
    const name = figures.find((figure) => used[figure] >= (budget?.[figure] ?? Number.POSITIVE_INFINITY));
    if (name === undefined) return null;
    return `${budgetFigures[name].label}: ${rounded(used[name])} of ${rounded(budget?.[name] ?? 0)}`;
  };

  return {
    usedBy,
    reached,
    checkLeft({ id, name }, figures) {
      const budget = budgetOf(id);
      const what = reached({ id, budget }, figures);
      if (what === null) return budget;
      throw new AppError('forbidden', `The budget of the access key "${name}" is used up. ${what}.`);
    },
    checkDisk({ id, name }, bytes) {
      const { disk_mb: mostMb } = budgetOf(id);
      if (mostMb === undefined) return;
      const leftMb = mostMb - usedBy(id).disk_mb;
      if (bytes / 1e6 <= leftMb) return;
      throw new AppError(
        'forbidden',
        `The budget of the access key "${name}" has ${rounded(leftMb)} MB of disk space left, and this needs ${rounded(bytes / 1e6)} MB.`,
      );
    },
  };
}

const rounded = (value: number) => String(Math.round(value * 10) / 10);
