import type { Db } from '../open.ts';

export interface AliasMove {
  /** A model's ID, or the name of a base model or a checkpoint. */
  readonly target: string;
  readonly movedAt: string;
}

/** A share of the requests of an alias that another model answers. */
export interface AliasSplit {
  /** As of a move. */
  readonly target: string;
  /** 1 to 99. */
  readonly percent: number;
  readonly startedAt: string;
  /** The name of the grader that scores the answers of both models. */
  readonly grader: string | null;
}

/** The moves and splits of aliases. */
export interface AliasStore {
  /** The names, in their order. */
  names(): string[];
  /** The newest first. */
  moves(alias: string, limit: number): AliasMove[];
  /** The target of the last move, or `null`. */
  target(alias: string): string | null;
  add(alias: string, move: AliasMove): void;
  split(alias: string): AliasSplit | null;
  /** `null` ends it. */
  setSplit(alias: string, split: AliasSplit | null): void;
  /** Takes the last move back. */
  removeLast(alias: string): void;
  /** @returns whether there were moves. */
  remove(alias: string): boolean;
}

export function createAliasStore(db: Db): AliasStore {
  const names = db.prepare('SELECT DISTINCT alias FROM alias_moves ORDER BY alias').pluck();
  const moves = db.prepare(
    'SELECT target, moved_at AS movedAt FROM alias_moves WHERE alias = ? ORDER BY number DESC LIMIT ?',
  );
  const target = db
    .prepare('SELECT target FROM alias_moves WHERE alias = ? ORDER BY number DESC LIMIT 1')
    .pluck();
  const add = db.prepare('INSERT INTO alias_moves (alias, target, moved_at) VALUES (?, ?, ?)');
  const removeLast = db.prepare(
    'DELETE FROM alias_moves WHERE number = (SELECT max(number) FROM alias_moves WHERE alias = ?)',
  );
  const remove = db.prepare('DELETE FROM alias_moves WHERE alias = ?');
  const split = db.prepare(
    'SELECT target, percent, started_at AS startedAt, grader FROM alias_splits WHERE alias = ?',
  );
  const addSplit = db.prepare(
    'INSERT OR REPLACE INTO alias_splits (alias, target, percent, started_at, grader) VALUES (?, ?, ?, ?, ?)',
  );
  const removeSplit = db.prepare('DELETE FROM alias_splits WHERE alias = ?');
  return {
    names: () => names.all() as string[],
    moves: (alias, limit) => moves.all(alias, limit) as AliasMove[],
    target: (alias) => (target.get(alias) as string | undefined) ?? null,
    add: (alias, move) => void add.run(alias, move.target, move.movedAt),
    split: (alias) => (split.get(alias) as AliasSplit | undefined) ?? null,
    setSplit(alias, one) {
      if (one === null) removeSplit.run(alias);
      else addSplit.run(alias, one.target, one.percent, one.startedAt, one.grader);
    },
    removeLast: (alias) => void removeLast.run(alias),
    remove: (alias) => remove.run(alias).changes > 0,
  };
}
