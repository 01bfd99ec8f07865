import type { AliasMove, AliasStore } from '../../db/tables/aliases.ts';
import { AppError } from '../../errors.ts';

/** A name that moves from model to model, such as `support@live`. */
export interface Alias {
  readonly name: string;
  /** The newest first: what it stands for now. */
  readonly moves: readonly AliasMove[];
}

export interface Aliases {
  list(): Alias[];
  /** What a name stands for; `null` if it is no alias. */
  targetOf(name: string): string | null;
  /**
   * Makes an alias, or moves it: requests from then on are answered by another model, those that run go on.
   * @throws AppError `conflict` when there are as many as there may be.
   */
  move(name: string, target: string): Alias;
  /** Takes the last move back. @throws AppError `not_found`, or `conflict` for the first one. */
  undo(name: string): Alias;
  /** @throws AppError `not_found`. */
  remove(name: string): void;
}

export const aliasPattern = /^[A-Za-z0-9._-]{1,64}@[A-Za-z0-9._-]{1,32}$/;
const mostAliases = 100;
const shownMoves = 50;

export function createAliases(store: AliasStore, now: () => Date = () => new Date()): Aliases {
  const get = (name: string): Alias => {
    const moves = store.moves(name, shownMoves);
    if (moves.length > 0) return { name, moves };
    throw new AppError('not_found', `There is no alias "${name.slice(0, 100)}".`);
  };
  return {
    list: () => store.names().map(get),
    targetOf: (name) => (aliasPattern.test(name) ? store.target(name) : null),
    move(name, target) {
      const before = store.target(name);
      if (before === null && store.names().length >= mostAliases)
        throw new AppError(
          'conflict',
          `There are ${mostAliases} aliases already. Delete one that is not used.`,
        );
      if (before !== target) store.add(name, { target, movedAt: now().toISOString() });
      return get(name);
    },
    undo(name) {
      if (get(name).moves.length === 1)
        throw new AppError('conflict', `${name} was never moved. Delete it if it is not needed.`);
      store.removeLast(name);
      return get(name);
    },
    remove(name) {
      if (!store.remove(name)) get(name);
    },
  };
}
