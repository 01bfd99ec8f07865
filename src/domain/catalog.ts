import { AppError } from '../errors.ts';
import type { Description } from '../trainer/protocol.ts';

/** Former names of providers: accepted, never returned. */
const providerAliases: Readonly<Record<string, string>> = { huggingface: 'standard', unsloth: 'accelerated' };

/** Specification, "Training request fields", rule 1. */
export const defaultProvider = 'standard';
export const defaultStrategy = 'sft';

/** What can be chosen, as the trainer tells it. */
export interface Catalog {
  get(): Promise<Description>;
  /** @throws AppError `invalid` that lists the tasks there are. */
  checkTask(task: string): Promise<void>;
  /**
   * Checks that task, strategy and provider exist, combine and run here.
   * @returns the provider under its present name.
   * @throws AppError `invalid` with what is allowed, or with why it cannot run here.
   */
  checkCombination(task: string, strategy: string, provider: string): Promise<string>;
}

function refuse(field: string, value: string, allowed: readonly string[]): never {
  const msg = `"${value}" is not a valid ${field}. Allowed: ${allowed.join(', ')}`;
  throw new AppError('invalid', msg, { issues: [{ loc: ['body', field], msg, type: 'value_error' }] });
}

/** @param describe asks the trainer; its answer is kept, its failure is not. */
export function createCatalog(describe: () => Promise<Description>): Catalog {
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
      const { tasks } = await get();
      if (!names(tasks).includes(task)) refuse('task', task, names(tasks));
    },
    async checkCombination(task, strategy, alias) {
      const { tasks, strategies, providers, combinations } = await get();
      const provider = providerAliases[alias] ?? alias;
      if (!names(tasks).includes(task)) refuse('task', task, names(tasks));
      if (!names(strategies).includes(strategy)) refuse('strategy', strategy, names(strategies));
      const found = providers.find((entry) => entry.name === provider);
      if (found === undefined) refuse('provider', provider, names(providers));
      if (!found.available) {
        const msg = `The provider "${provider}" cannot run here: ${found.reason ?? 'unknown reason'}`;
        throw new AppError('invalid', msg, {
          issues: [{ loc: ['body', 'provider'], msg, type: 'value_error' }],
        });
      }
      const combines = combinations.some(
        (entry) => entry.task === task && entry.strategy === strategy && entry.provider === provider,
      );
      if (!combines) {
        const partners = combinations
          .filter((entry) => entry.strategy === strategy && entry.provider === provider)
          .map((entry) => String(entry.task));
        const msg = `Strategy "${strategy}" with provider "${provider}" does not train "${task}"; it trains: ${partners.join(', ') || 'nothing here'}.`;
        throw new AppError('invalid', msg, {
          issues: [{ loc: ['body', 'strategy'], msg, type: 'value_error' }],
        });
      }
      return provider;
    },
  };
}
