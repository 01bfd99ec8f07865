import type { Db } from '../open.ts';

export interface AliasMove {
  /** A model's ID, or the name of a base model or a checkpoint. */
  readonly target: string;
  readonly movedAt: string;
}

/** The moves of aliases. */
export interface AliasStore {
  /** The names, in their order. */
  names(): string[];
  /** The newest first. */
  moves(alias: string, limit: number): AliasMove[];
  /** The target of the last move, or `null`. */
  target(alias: string): string | null;
  add(alias: string, move: AliasMove): void;
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
  return {
    names: () => names.all() as string[],
    moves: (alias, limit) => moves.all(alias, limit) as AliasMove[],
    target: (alias) => (target.get(alias) as string | undefined) ?? null,
    add: (alias, move) => void add.run(alias, move.target, move.movedAt),
    removeLast: (alias) => void removeLast.run(alias),
    remove: (alias) => remove.run(alias).changes > 0,
  };
}
