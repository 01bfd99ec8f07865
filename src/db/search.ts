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

/** Gives SQL the function `has_word(text, word)`: whether a text has a word in lower case, in upper or lower case. */
export function addSearch(db: Db): void {
  db.function('has_word', { deterministic: true }, (text: unknown, word: unknown) =>
    String(text).toLowerCase().includes(String(word)) ? 1 : 0,
  );
}

/**
 * The condition that a text has a word in lower case. SQLite's `lower` knows the cases of ASCII only, but is many times as
 * fast as a function of the program, above all as long as that is not compiled.
 */
const hasWord = (text: string, word: string) =>
  /^[\x21-\x7e]*$/.test(word) ? `instr(lower(${text}), ?) > 0` : `has_word(${text}, ?)`;

/** What a table is searched and filtered by. */
interface Searchable {
  /** The columns that have exactly a value, by the names of their filters. */
  readonly columns: Readonly<Record<string, string>>;
  /** What is searched for words, as SQL. */
  readonly searched: string;
}

/** What is looked for; besides, the values of columns by the names of their filters. */
interface Wanted {
  /** Words that all occur, in upper or lower case. */
  readonly search?: string | undefined;
  /** Tags that a row has, all of them. */
  readonly tags?: readonly string[] | undefined;
}

/** The conditions of a filter as SQL, and the values of their parameters; the table needs `addSearch`. */
export function conditionsOf(
  { columns, searched }: Searchable,
  { search, tags = [], ...equals }: Wanted,
): { conditions: string[]; values: unknown[] } {
  const values = new Map<string, unknown>(Object.entries(equals));
  const wanted = Object.entries(columns).flatMap(([key, column]) => {
    const value = values.get(key);
    return value === undefined ? [] : [{ condition: `${column} = ?`, value }];
  });
  for (const tag of tags)
    wanted.push({ condition: 'EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)', value: tag });
  for (const word of search?.toLowerCase().split(/\s+/).filter(Boolean) ?? [])
    wanted.push({ condition: hasWord(searched, word), value: word });
  return {
    conditions: wanted.map(({ condition }) => condition),
    values: wanted.map(({ value }) => value),
  };
}

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
