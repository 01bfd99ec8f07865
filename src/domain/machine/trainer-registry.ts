import type { RowShape } from '../../contract/rows.ts';
import { type Faults, refusalOf } from '../../faults.ts';
import type { Description } from '../../trainer/protocol.ts';

/** Aliases of providers: accepted, never returned. */
const providerAliases: Readonly<Record<string, string>> = { huggingface: 'standard', unsloth: 'accelerated' };

/** Used when a request names none (docs/specification.md, Training request). */
export const defaultProvider = 'standard';
export const defaultStrategy = 'sft';

/** The available choices, as reported by the trainer. */
export interface TrainerRegistry {
  get(): Promise<Description>;
  /** @throws AppError `invalid` with the available tasks. */
  checkTask(task: string): Promise<void>;
  /**
   * Checks that task, strategy and provider exist, can be combined and run here; `null` values are skipped.
   * @returns the valid ones, with aliases of the provider resolved.
   */
  judge(choice: Choice, faults: Faults): Promise<Choice>;
}

/** The choices of a training request, as far as valid. */
export interface Choice {
  readonly task: string | null;
  readonly strategy: string | null;
  readonly provider: string | null;
}

const notOne = (field: string, value: string, allowed: readonly string[]) =>
  `"${value}" is not a valid ${field}. Allowed: ${allowed.join(', ')}`;

/** @param describe asks the trainer; answers are cached, failures are not. */
export function createTrainerRegistry(describe: () => Promise<Description>): TrainerRegistry {
  let pending: Promise<Description> | null = null;
  const get = () => {
    pending ??= describe().catch((error) => {
      pending = null;
      throw error;
    });
    return pending;
  };
  const names = (entries: readonly { name: string }[]) => entries.map((entry) => entry.name);
  return {
    get,
    async checkTask(task) {
      const known = names((await get()).tasks);
      if (!known.includes(task)) throw refusalOf('task', notOne('task', task, known));
    },
    async judge({ task, strategy, provider: asked }, faults) {
      const { tasks, strategies, providers, combinations } = await get();
      const known = (field: keyof Choice, value: string | null, entries: readonly { name: string }[]) => {
        if (value === null || names(entries).includes(value)) return value;
        faults.add(field, notOne(field, value, names(entries)));
        return null;
      };
      const choice = {
        task: known('task', task, tasks),
        strategy: known('strategy', strategy, strategies),
        provider: known('provider', asked === null ? null : (providerAliases[asked] ?? asked), providers),
      };
      const { provider } = choice;
      const found = providers.find(({ name }) => name === provider);
      if (found?.available === false) {
        faults.add(
          'provider',
          `The provider "${provider}" cannot run here: ${found.reason ?? 'unknown reason'}`,
        );
      }
      if (choice.task === null || choice.strategy === null || provider === null) return choice;
      const partners = combinations
        .filter((entry) => entry.strategy === strategy && entry.provider === provider)
        .map((entry) => String(entry.task));
      if (!partners.includes(choice.task)) {
        faults.add(
          'strategy',
          `Strategy "${strategy}" with provider "${provider}" does not support "${task}". Supported: ${partners.join(', ') || 'none'}.`,
        );
      }
      return choice;
    },
  };
}

/** Which shapes of rows a task and strategy train on; `null` where too little of them is known. */
export function rowShapesFor(
  { tasks, strategies }: Pick<Description, 'tasks' | 'strategies'>,
  task: string | null,
  strategy: string | null,
): readonly RowShape[] | null {
  const found = strategies.find(({ name }) => name === strategy);
  if (found === undefined) return null;
  if (found.row_shape !== null) return [found.row_shape];
  return tasks.find(({ name }) => name === task)?.row_shapes ?? null;
}
