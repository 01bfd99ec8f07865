import { createHash } from 'node:crypto';
import type { Db } from '../open.ts';

/** An uploaded dataset. `validation` is the domain's result of the upload. */
export interface DatasetRow<Validation = unknown> {
  readonly name: string;
  readonly numExamples: number;
  readonly sizeBytes: number;
  readonly uploadedAt: string;
  readonly validation: Validation;
}

/** The ID of a dataset as a file of OpenAI's API. A later upload under the same name is another file. */
export const datasetFileId = ({ name, uploadedAt }: Pick<DatasetRow, 'name' | 'uploadedAt'>): string =>
  `file-${createHash('sha256').update(`${name}\0${uploadedAt}`).digest('hex').slice(0, 24)}`;

export interface DatasetStore {
  put(dataset: DatasetRow): void;
  get(name: string): DatasetRow | null;
  /** The dataset with this `datasetFileId`. */
  getByFileId(fileId: string): DatasetRow | null;
  list(): DatasetRow[];
  remove(name: string): void;
}

function toRow(record: Record<string, unknown>): DatasetRow {
  return {
    name: record.name as string,
    numExamples: record.num_examples as number,
    sizeBytes: record.size_bytes as number,
    uploadedAt: record.uploaded_at as string,
    validation: JSON.parse(record.validation as string),
  };
}

export function createDatasetStore(db: Db): DatasetStore {
  const put = db.prepare(
    `INSERT INTO datasets (name, num_examples, size_bytes, uploaded_at, validation)
     VALUES (@name, @numExamples, @sizeBytes, @uploadedAt, @validation)
     ON CONFLICT (name) DO UPDATE SET num_examples = excluded.num_examples,
       size_bytes = excluded.size_bytes, uploaded_at = excluded.uploaded_at, validation = excluded.validation`,
  );
  const get = db.prepare('SELECT * FROM datasets WHERE name = ?');
  const all = db.prepare('SELECT * FROM datasets ORDER BY uploaded_at DESC, name');
  const remove = db.prepare('DELETE FROM datasets WHERE name = ?');
  const dates = db.prepare('SELECT name, uploaded_at AS uploadedAt FROM datasets');
  /** The names by file ID, which SQLite cannot compute; made when it is first needed. */
  let names: Map<string, string> | null = null;

  function find(name: string): DatasetRow | null {
    const record = get.get(name) as Record<string, unknown> | undefined;
    return record ? toRow(record) : null;
  }
  return {
    put(dataset) {
      put.run({ ...dataset, validation: JSON.stringify(dataset.validation) });
      names?.set(datasetFileId(dataset), dataset.name);
    },
    get: find,
    getByFileId(fileId) {
      names ??= new Map(
        (dates.all() as Pick<DatasetRow, 'name' | 'uploadedAt'>[]).map((row) => [
          datasetFileId(row),
          row.name,
        ]),
      );
      const name = names.get(fileId);
      const dataset = name === undefined ? null : find(name);
      if (dataset !== null && datasetFileId(dataset) === fileId) return dataset;
      // It was removed or replaced.
      names.delete(fileId);
      return null;
    },
    list: () => (all.all() as Record<string, unknown>[]).map(toRow),
    remove: (name) => void remove.run(name),
  };
}
