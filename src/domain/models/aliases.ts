import { createHash } from 'node:crypto';
import type { AliasMove, AliasSplit, AliasStore } from '../../db/tables/aliases.ts';
import { AppError } from '../../errors.ts';

export type { AliasSplit };

/** A name that moves from model to model, such as `support@live`. */
export interface Alias {
  readonly name: string;
  /** The newest first: what it stands for now. */
  readonly moves: readonly AliasMove[];
  /** Another model that answers a share of the requests; `null` if there is none. */
  readonly split: AliasSplit | null;
}

export interface Aliases {
  list(): Alias[];
  /** @throws AppError `not_found`. */
  get(name: string): Alias;
  /**
   * What a name stands for; `null` if it is no alias.
   * @param conversation what tells conversations apart: each stays with one model while an alias is split. Without it
   * there is no split.
   */
  targetsOf(name: string, conversation?: string): AliasTargets | null;
  /**
   * Makes an alias, or moves it: requests from then on are answered by another model, those that run go on. A move ends
   * a split.
   * @throws AppError `conflict` when there are as many as there may be.
   */
  move(name: string, target: string): Alias;
  /** Takes the last move back. @throws AppError `not_found`, or `conflict` for the first one. */
  undo(name: string): Alias;
  /** Lets another model answer a share of the requests, or none (`null`). @throws AppError `not_found`. */
  split(name: string, split: Omit<AliasSplit, 'startedAt'> | null): Alias;
  /** @throws AppError `not_found`. */
  remove(name: string): void;
}

/** What answers to a name. */
export interface AliasTargets {
  readonly target: string;
  /** What answers instead, as long as it is there. */
  readonly candidate: string | null;
}

export const aliasPattern = /^[A-Za-z0-9._-]{1,64}@[A-Za-z0-9._-]{1,32}$/;
/** A name with the share of a split behind it, such as `support@live:split=10`. */
const splitPattern = /^(.+):split=([1-9]\d?)$/;
const mostAliases = 100;
const shownMoves = 50;

/** A name, and the share of a split if it has one behind it, in percent. */
export function namedSplit(text: string): { readonly name: string; readonly percent: number | null } {
  const [, name = text, percent] = splitPattern.exec(text) ?? [];
  return { name, percent: percent === undefined ? null : Number(percent) };
}

/** A number from 0 to 100 that is the same for the same text, and as likely anywhere. */
const percentile = (text: string) =>
  (createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32) * 100;

export function createAliases(store: AliasStore, now: () => Date = () => new Date()): Aliases {
  const get = (name: string): Alias => {
    const moves = store.moves(name, shownMoves);
    if (moves.length > 0) return { name, moves, split: store.split(name) };
    throw new AppError('not_found', `There is no alias "${name.slice(0, 100)}".`);
  };
  return {
    list: () => store.names().map(get),
    get,
    targetsOf(name, conversation) {
      const target = aliasPattern.test(name) ? store.target(name) : null;
      if (target === null) return null;
      const split = conversation === undefined ? null : store.split(name);
      const isSplit = split !== null && percentile(`${split.startedAt}\n${conversation}`) < split.percent;
      return { target, candidate: isSplit ? split.target : null };
    },
    move(name, target) {
      const before = store.target(name);
      if (before === null && store.names().length >= mostAliases)
        throw new AppError(
          'conflict',
          `There are ${mostAliases} aliases already. Delete one that is not used.`,
        );
      if (before !== target) {
        store.add(name, { target, movedAt: now().toISOString() });
        store.setSplit(name, null);
      }
      return get(name);
    },
    undo(name) {
      if (get(name).moves.length === 1)
        throw new AppError('conflict', `${name} was never moved. Delete it if it is not needed.`);
      store.removeLast(name);
      store.setSplit(name, null);
      return get(name);
    },
    split(name, split) {
      get(name);
      store.setSplit(name, split === null ? null : { ...split, startedAt: now().toISOString() });
      return get(name);
    },
    remove(name) {
      get(name);
      store.setSplit(name, null);
      store.remove(name);
    },
  };
}
