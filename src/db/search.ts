import type { Db } from './open.ts';

/** A value of a column, with the number of rows that have it. */
export interface Facet {
  readonly value: string;
  readonly count: number;
}

/** The values of a table that it can be filtered by, the most frequent first. */
export interface Facets {
  readonly tags: readonly Facet[];
  readonly models: readonly Facet[];
  readonly datasets: readonly Facet[];
}

/** The most values of a kind that are listed. */
const facetLimit = 200;

/**
 * Gives SQL the function `has_words(text, words)`: whether a text has all of these words, in upper or lower case.
 * SQLite's own `lower` and `LIKE` know the cases of ASCII only.
 */
export function addSearch(db: Db): void {
  let asked = '';
  let words: readonly string[] = [];
  db.function('has_words', { deterministic: true }, (text: unknown, wanted: unknown) => {
    if (wanted !== asked) {
      asked = String(wanted);
      words = wordsOf(asked);
    }
    const lower = String(text).toLowerCase();
    return words.every((word) => lower.includes(word)) ? 1 : 0;
  });
}

const wordsOf = (search: string) => search.toLowerCase().split(/\s+/).filter(Boolean);

/** @param modelColumn the column with the base model. */
export function readFacets(db: Db, table: 'jobs' | 'models', modelColumn: string): Facets {
  const by = (from: string, value: string) =>
    db
      .prepare(
        `SELECT ${value} AS value, count(*) AS count FROM ${from} GROUP BY 1 ORDER BY count DESC, value LIMIT ${facetLimit}`,
      )
      .all() as Facet[];
  return {
    tags: by(`${table}, json_each(${table}.tags)`, 'json_each.value'),
    models: by(table, modelColumn),
    datasets: by(table, 'dataset_name'),
  };
}
