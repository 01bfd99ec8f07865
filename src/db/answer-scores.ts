import type { Db } from './open.ts';

/** What was kept of the answers of one model under a name. */
export interface AnswerTotals {
  readonly answeredBy: string;
  readonly answers: number;
  readonly up: number;
  readonly down: number;
  /** The median time from a request to the end of its answer. */
  readonly milliseconds: number;
  /** How many a grader has scored, and the sum of their scores. */
  readonly graded: number;
  readonly score: number;
}

/** Answers under a name. */
export interface NamedAnswers {
  /** As requests named it. */
  readonly model: string;
  /** In Unix seconds. */
  readonly since: number;
}

/** How many answers a grader has not looked at yet, and how many it could not score. */
export interface Ungraded {
  readonly left: number;
  readonly failed: number;
}

/** The figures of kept answers, and the scores that graders give them. Graders are named by the digest of their definition. */
export interface AnswerScores {
  /** What was kept of each model that answered to a name. @param grader `null` for none. */
  totals(those: NamedAnswers, grader: string | null): AnswerTotals[];
  ungraded(those: NamedAnswers, grader: string): Ungraded;
  /** Stores the scores of answers by their IDs, with `null` for those that could not be scored. */
  setScores(grader: string, scores: ReadonlyMap<string, number | null>): void;
  /** Forgets which answers a grader could not score. */
  forgetFailures(grader: string): void;
}

/** @param known the database; `null` as long as there is none. */
export function createAnswerScores(known: () => Db | null): AnswerScores {
  return {
    totals: ({ model, since }, grader) =>
      (known()
        ?.prepare(
          `WITH those AS (
             SELECT number, answered_by, rating, milliseconds, count(*) OVER side AS answers,
               row_number() OVER (side ORDER BY milliseconds) AS place
             FROM answers WHERE model = ? AND created_at >= ? WINDOW side AS (PARTITION BY answered_by)
           )
           SELECT answered_by AS answeredBy, answers, count(*) FILTER (WHERE rating = 'up') AS up,
             count(*) FILTER (WHERE rating = 'down') AS down,
             avg(milliseconds) FILTER (WHERE place IN ((answers + 1) / 2, answers / 2 + 1)) AS milliseconds,
             count(score) AS graded, total(score) AS score
           FROM those LEFT JOIN answer_scores ON answer_scores.number = those.number AND grader = ?
           GROUP BY answered_by`,
        )
        .all(model, since, grader) ?? []) as AnswerTotals[],
    ungraded: ({ model, since }, grader) =>
      (known()
        ?.prepare(
          `SELECT count(*) FILTER (WHERE answer_scores.number IS NULL) AS left,
             count(*) FILTER (WHERE answer_scores.number IS NOT NULL AND score IS NULL) AS failed
           FROM answers LEFT JOIN answer_scores ON answer_scores.number = answers.number AND grader = ?
           WHERE model = ? AND created_at >= ?`,
        )
        .get(grader, model, since) ?? { left: 0, failed: 0 }) as Ungraded,
    setScores(grader, scores) {
      const insert = known()?.prepare(
        'INSERT OR REPLACE INTO answer_scores (number, grader, score) SELECT number, ?, ? FROM answers WHERE id = ?',
      );
      known()?.transaction(() => {
        for (const [id, score] of scores) insert?.run(grader, score, id);
      })();
    },
    forgetFailures: (grader) =>
      void known()?.prepare('DELETE FROM answer_scores WHERE grader = ? AND score IS NULL').run(grader),
  };
}
