import type { Db } from '../../open.ts';

/** A document without its text. */
export interface DocumentRow {
  readonly id: string;
  readonly name: string;
  /** Of the file. */
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Of the text. */
  readonly characters: number;
  /** 1 for a format without pages. */
  readonly pageCount: number;
  readonly pagesWithoutText: number;
  readonly createdAt: string;
}

/** The table of documents. */
export interface DocumentStore {
  add(document: DocumentRow & { readonly pages: readonly unknown[] }): void;
  /** In the order of their names. */
  list(): DocumentRow[];
  get(id: string): DocumentRow | null;
  byName(name: string): DocumentRow | null;
  pages(id: string): readonly unknown[];
  /** The characters of all documents. */
  characters(): number;
  remove(id: string): void;
}

export function createDocumentStore(db: Db): DocumentStore {
  const columns = `id, name, sha256, size_bytes AS sizeBytes, characters, page_count AS pageCount,
    pages_without_text AS pagesWithoutText, created_at AS createdAt`;
  const add = db.prepare(
    `INSERT INTO documents (id, name, sha256, size_bytes, characters, pages, page_count, pages_without_text, created_at)
     VALUES (@id, @name, @sha256, @sizeBytes, @characters, @pages, @pageCount, @pagesWithoutText, @createdAt)`,
  );
  const list = db.prepare(`SELECT ${columns} FROM documents ORDER BY name`);
  const get = db.prepare(`SELECT ${columns} FROM documents WHERE id = ?`);
  const byName = db.prepare(`SELECT ${columns} FROM documents WHERE name = ?`);
  const pages = db.prepare('SELECT pages FROM documents WHERE id = ?').pluck();
  const characters = db.prepare('SELECT coalesce(sum(characters), 0) FROM documents').pluck();
  const remove = db.prepare('DELETE FROM documents WHERE id = ?');
  return {
    add: (document) => void add.run({ ...document, pages: JSON.stringify(document.pages) }),
    list: () => list.all() as DocumentRow[],
    get: (id) => (get.get(id) as DocumentRow | undefined) ?? null,
    byName: (name) => (byName.get(name) as DocumentRow | undefined) ?? null,
    pages: (id) => JSON.parse((pages.get(id) as string | undefined) ?? '[]'),
    characters: () => characters.get() as number,
    remove: (id) => void remove.run(id),
  };
}
