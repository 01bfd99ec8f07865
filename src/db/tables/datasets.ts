import { createHash } from 'node:crypto';
import type { Db } from '../open.ts';

/** An uploaded dataset. `validation` is the domain's result of the upload. */
export interface DatasetRow<Validation = unknown> {
  readonly name: string;
  readonly numExamples: number;
  readonly sizeBytes: number;
  readonly uploadedAt: string;
  readonly validation: Validation;
  /** The names that it had before, the first one first. */
  readonly formerNames: readonly string[];
  /** In how many rows an analysis has found something, each counted once for everything; `null` while that is not known. */
  readonly findings: number | null;
}

/** What an analysis has found in a version of a dataset's file. */
export interface StoredAnalysis<Analysis = unknown> {
  readonly version: string;
  readonly analysis: Analysis;
}

type Identified = Pick<DatasetRow, 'name' | 'uploadedAt' | 'formerNames'>;

/** The ID of a dataset as a file of OpenAI's API, under whatever name. A later upload under the same name is another file. */
export const datasetFileId = ({ name, uploadedAt, formerNames }: Identified): string =>
  `file-${createHash('sha256')
    .update(`${formerNames[0] ?? name}\0${uploadedAt}`)
    .digest('hex')
    .slice(0, 24)}`;

export interface DatasetStore {
  /** Its analysis is kept if the file is still the same. */
  put(dataset: Omit<DatasetRow, 'findings'>): void;
  get(name: string): DatasetRow | null;
  /** The dataset that had this name last, if none has it now. */
  getByFormerName(name: string): DatasetRow | null;
  /** The dataset with this `datasetFileId`. */
  getByFileId(fileId: string): DatasetRow | null;
  list(): DatasetRow[];
  /** @param name that no dataset has. */
  rename(from: string, name: string): void;
  remove(name: string): void;
  /** The rows that are flagged. */
  flags(name: string): ReadonlySet<string>;
  flag(name: string, rows: readonly string[], isFlagged: boolean): void;
  analysis(name: string): StoredAnalysis | null;
  keepAnalysis(name: string, stored: StoredAnalysis, findings: number): void;
}

const columns = 'name, num_examples, size_bytes, uploaded_at, validation, former_names, findings';
const sameFile = 'size_bytes = excluded.size_bytes AND uploaded_at = excluded.uploaded_at';

function toRow(record: Record<string, unknown>): DatasetRow {
  return {
    name: record.name as string,
    numExamples: record.num_examples as number,
    sizeBytes: record.size_bytes as number,
    uploadedAt: record.uploaded_at as string,
    validation: JSON.parse(record.validation as string),
    formerNames: JSON.parse(record.former_names as string),
    findings: record.findings as number | null,
  };
}

export function createDatasetStore(db: Db): DatasetStore {
  const put = db.prepare(
    `INSERT INTO datasets (name, num_examples, size_bytes, uploaded_at, validation, former_names)
     VALUES (@name, @numExamples, @sizeBytes, @uploadedAt, @validation, @formerNames)
     ON CONFLICT (name) DO UPDATE SET num_examples = excluded.num_examples,
       size_bytes = excluded.size_bytes, uploaded_at = excluded.uploaded_at, validation = excluded.validation,
       former_names = excluded.former_names, analysis = CASE WHEN ${sameFile} THEN analysis END,
       findings = CASE WHEN ${sameFile} THEN findings END`,
  );
  const get = db.prepare(`SELECT ${columns} FROM datasets WHERE name = ?`);
  const all = db.prepare(`SELECT ${columns} FROM datasets ORDER BY uploaded_at DESC, name`);
  const formerly = db.prepare(
    `SELECT ${columns} FROM datasets WHERE EXISTS (SELECT 1 FROM json_each(former_names) WHERE value = @name)
       AND NOT EXISTS (SELECT 1 FROM datasets WHERE name = @name) ORDER BY uploaded_at DESC LIMIT 1`,
  );
  const rename = db.prepare(
    `UPDATE datasets SET name = @name, former_names = json_insert(former_names, '$[#]', name) WHERE name = @from`,
  );
  const remove = db.prepare('DELETE FROM datasets WHERE name = ?');
  const flags = db.prepare('SELECT row FROM dataset_flags WHERE dataset = ?').pluck();
  const flag = db.prepare('INSERT OR IGNORE INTO dataset_flags (dataset, row) VALUES (?, ?)');
  const unflag = db.prepare('DELETE FROM dataset_flags WHERE dataset = ? AND row = ?');
  const flagAll = db.transaction((name: string, rows: readonly string[], change: typeof flag) => {
    for (const row of rows) change.run(name, row);
  });
  const getAnalysis = db.prepare('SELECT analysis FROM datasets WHERE name = ?').pluck();
  const keepAnalysis = db.prepare('UPDATE datasets SET analysis = ?, findings = ? WHERE name = ?');
  /** The names by file ID, which SQLite cannot compute; made when it is first needed. */
  let names: Map<string, string> | null = null;

  const found = (record: unknown) => (record === undefined ? null : toRow(record as Record<string, unknown>));
  const find = (name: string) => found(get.get(name));
  const list = () => (all.all() as Record<string, unknown>[]).map(toRow);
  return {
    put(dataset) {
      const { validation, formerNames } = dataset;
      put.run({
        ...dataset,
        validation: JSON.stringify(validation),
        formerNames: JSON.stringify(formerNames),
      });
      names?.set(datasetFileId(dataset), dataset.name);
    },
    get: find,
    getByFormerName: (name) => found(formerly.get({ name })),
    getByFileId(fileId) {
      names ??= new Map(list().map((row) => [datasetFileId(row), row.name]));
      const name = names.get(fileId);
      const dataset = name === undefined ? null : find(name);
      if (dataset !== null && datasetFileId(dataset) === fileId) return dataset;
      // It was removed or replaced.
      names.delete(fileId);
      return null;
    },
    list,
    rename(from, name) {
      rename.run({ from, name });
      names = null;
    },
    remove: (name) => void remove.run(name),
    flags: (name) => new Set(flags.all(name) as string[]),
    flag: (name, rows, isFlagged) => flagAll(name, rows, isFlagged ? flag : unflag),
    analysis: (name) => JSON.parse((getAnalysis.get(name) as string | null | undefined) ?? 'null'),
    keepAnalysis: (name, stored, findings) => void keepAnalysis.run(JSON.stringify(stored), findings, name),
  };
}
