import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Rating, RatingFilter } from '../contract/graders/feedback.ts';
import { type AnswerScores, createAnswerScores, type NamedAnswers } from './answer-scores.ts';
import { type Db, openDatabase } from './open.ts';

/** An answer that is kept, with JSON columns parsed. */
export interface KeptAnswer {
  readonly id: string;
  /** The ID of the access key that asked; `null` without one. */
  readonly owner: string | null;
  /** As the request named it. */
  readonly model: string;
  /** What the name stood for. */
  readonly answeredBy: string;
  /** In Unix seconds. */
  readonly createdAt: number;
  readonly messages: readonly unknown[];
  readonly completion: object;
  readonly metadata: Readonly<Record<string, string>>;
  readonly milliseconds: number;
  readonly rating: Rating | null;
  readonly correction: string | null;
}

/** @param words what a search finds. */
export type NewAnswer = Omit<KeptAnswer, 'rating' | 'correction'> & { readonly words: string };

/** Which answers are wanted, in which order. */
export interface AnswerFilter {
  readonly owner?: string | undefined;
  readonly model?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly rating?: RatingFilter | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Words that all occur, or begin words that occur. */
  readonly search?: string | undefined;
  /** The ID of the answer after which the page begins. */
  readonly after?: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

/** Answers of a list. It ends early where it becomes large. */
export interface AnswerPage {
  readonly answers: readonly KeptAnswer[];
  readonly hasMore: boolean;
}

/** How much is kept of the answers under one name. */
export interface KeptOfModel {
  /** As requests named it. */
  readonly model: string;
  readonly answers: number;
  readonly bytes: number;
}

/** The answers that clients asked to keep. They are in a database of their own, which no backup copies. */
export interface TrafficStore {
  /** Stores answers in one transaction. */
  add(answers: readonly NewAnswer[]): void;
  get(id: string): KeptAnswer | null;
  list(filter: AnswerFilter): AnswerPage;
  readonly scores: AnswerScores;
  /** The newest answers that a grader has not looked at yet. @param grader the digest of its definition. */
  toGrade(those: NamedAnswers, grader: string, limit: number): KeptAnswer[];
  /** What is kept, by the names in requests; the most answers first. */
  kept(): KeptOfModel[];
  update(id: string, fields: Pick<KeptAnswer, 'metadata' | 'rating' | 'correction'>): void;
  remove(id: string): void;
  /**
   * Deletes the oldest answers, in pieces: each is overwritten, which takes a third of a millisecond.
   * @param since those from before, in Unix seconds.
   * @param bytes those beyond this size of all, counted from the newest.
   */
  prune(since: number, bytes: number): Promise<void>;
  close(): void;
}

/** A page of several answers is not longer. */
const pageBytes = 2 ** 24;
/** As many as are deleted at a time. */
const pieceRows = 100;

const columns =
  'id, owner, model, answered_by AS answeredBy, created_at AS createdAt, messages, completion, metadata, milliseconds, rating, correction, bytes';

interface Row extends Omit<KeptAnswer, 'messages' | 'completion' | 'metadata'> {
  readonly messages: string;
  readonly completion: string;
  readonly metadata: string;
  readonly bytes: number;
}

const parsed = ({ bytes: _, ...row }: Row): KeptAnswer => ({
  ...row,
  messages: JSON.parse(row.messages),
  completion: JSON.parse(row.completion),
  metadata: JSON.parse(row.metadata),
});

/** A query of SQLite's full text search (its documentation, section 3): all words, each the beginning of one. */
const matching = (search: string) =>
  (search.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) => `"${word}"*`).join(' ');

/** What a rating is to be, as a condition. */
const ratingConditions = {
  up: "rating = 'up'",
  down: "rating = 'down'",
  any: 'rating IS NOT NULL',
  none: 'rating IS NULL',
  corrected: 'correction IS NOT NULL',
} as const satisfies Record<RatingFilter, string>;

/** Which answers a filter has, as a part of a query with its values. @param words as `matching` has them. */
function conditionsOf(
  { owner, model, metadata = {}, rating, ids, after }: Omit<AnswerFilter, 'search' | 'limit' | 'order'>,
  words: string,
  order: AnswerFilter['order'],
) {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const want = (condition: string, ...given: unknown[]) => {
    conditions.push(condition);
    values.push(...given);
  };
  if (owner !== undefined) want('owner = ?', owner);
  if (model !== undefined) want('model = ?', model);
  if (rating !== undefined) want(ratingConditions[rating]);
  if (ids !== undefined) want('id IN (SELECT value FROM json_each(?))', JSON.stringify(ids));
  for (const [key, value] of Object.entries(metadata)) {
    // As it is stored; quotes in keys and values have a backslash there.
    const pair = JSON.stringify({ [key]: value }).slice(1, -1);
    want('(instr(metadata, ?) = 1 OR instr(metadata, ?) > 0)', `{${pair}`, `,${pair}`);
  }
  if (words !== '') want('number IN (SELECT rowid FROM answer_words WHERE answer_words MATCH ?)', words);
  if (after !== undefined)
    want(`number ${order === 'asc' ? '>' : '<'} (SELECT number FROM answers WHERE id = ?)`, after);
  return { where: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, values };
}

/**
 * Opens the database when it is needed: without an answer to keep there is no file.
 * @param migrationsDir as of `openDatabase`.
 */
export function createTrafficStore(path: string, migrationsDir: string): TrafficStore {
  let db: Db | null = null;
  function opened(): Db {
    if (db === null) {
      db = openDatabase(path, migrationsDir);
      db.pragma('secure_delete = ON');
    }
    return db;
  }
  let isClosed = false;
  const known = () => (!isClosed && (db !== null || existsSync(path)) ? opened() : null);

  /** What was deleted is gone from the log of the database, too. */
  function forget(): void {
    known()?.pragma('wal_checkpoint(TRUNCATE)');
  }

  return {
    add(answers) {
      const insert = opened().prepare(
        `INSERT INTO answers (id, owner, model, answered_by, created_at, messages, completion, metadata, milliseconds, words, bytes)
         VALUES (@id, @owner, @model, @answeredBy, @createdAt, @messages, @completion, @metadata, @milliseconds, @words, @bytes)`,
      );
      opened().transaction(() => {
        for (const { messages, completion, metadata, ...answer } of answers) {
          const json = {
            messages: JSON.stringify(messages),
            completion: JSON.stringify(completion),
            metadata: JSON.stringify(metadata),
          };
          const bytes = json.messages.length + json.completion.length + answer.words.length;
          insert.run({ ...answer, ...json, bytes });
        }
      })();
    },
    get(id) {
      const row = known()?.prepare(`SELECT ${columns} FROM answers WHERE id = ?`).get(id);
      return row === undefined ? null : parsed(row as Row);
    },
    list({ search, limit, order, ...filter }) {
      const words = search === undefined ? '' : matching(search);
      if (search !== undefined && words === '') return { answers: [], hasMore: false };
      const { where, values } = conditionsOf(filter, words, order);
      const rows = known()
        ?.prepare(`SELECT ${columns} FROM answers ${where} ORDER BY number ${order} LIMIT ?`)
        .iterate(...values, limit + 1);
      const answers: KeptAnswer[] = [];
      let length = 0;
      for (const row of (rows ?? []) as Iterable<Row>) {
        length += row.bytes;
        if (answers.length === limit || (answers.length > 0 && length > pageBytes))
          return { answers, hasMore: true };
        answers.push(parsed(row));
      }
      return { answers, hasMore: false };
    },
    scores: createAnswerScores(known),
    toGrade: ({ model, since }, grader, limit) =>
      (
        (known()
          ?.prepare(
            `SELECT ${columns} FROM answers WHERE model = ? AND created_at >= ?
             AND number NOT IN (SELECT number FROM answer_scores WHERE grader = ?) ORDER BY number DESC LIMIT ?`,
          )
          .all(model, since, grader, limit) ?? []) as Row[]
      ).map(parsed),
    kept: () =>
      (known()
        ?.prepare(
          'SELECT model, count(*) AS answers, sum(bytes) AS bytes FROM answers GROUP BY model ORDER BY 2 DESC, 1',
        )
        .all() ?? []) as KeptOfModel[],
    update: (id, { metadata, rating, correction }) =>
      void known()
        ?.prepare('UPDATE answers SET metadata = ?, rating = ?, correction = ? WHERE id = ?')
        .run(JSON.stringify(metadata), rating, correction, id),
    remove(id) {
      known()?.prepare('DELETE FROM answers WHERE id = ?').run(id);
      forget();
    },
    async prune(since, bytes) {
      const last = known()
        ?.prepare(
          `SELECT max(number) FROM (SELECT number, created_at, sum(bytes) OVER (ORDER BY number DESC) AS newer FROM answers)
           WHERE created_at < ? OR newer > ?`,
        )
        .pluck()
        .get(since, bytes);
      const oldest = 'SELECT number FROM answers WHERE number <= ? ORDER BY number LIMIT ?';
      let deleted = 0;
      while (
        known()?.prepare(`DELETE FROM answers WHERE number IN (${oldest})`).run(last, pieceRows).changes
      ) {
        deleted += 1;
        await setImmediate();
      }
      if (deleted > 0) forget();
    },
    close() {
      isClosed = true;
      db?.close();
      db = null;
    },
  };
}
