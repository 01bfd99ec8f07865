import type { Db } from './open.ts';

/** An uploaded dataset. `validation` is the domain's result of the upload. */
export interface DatasetRow<Validation = unknown> {
  readonly name: string;
  readonly numExamples: number;
  readonly sizeBytes: number;
  readonly uploadedAt: string;
  readonly validation: Validation;
}

export interface DatasetStore {
  put(dataset: DatasetRow): void;
  get(name: string): DatasetRow | null;
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
  return {
    put: (dataset) => void put.run({ ...dataset, validation: JSON.stringify(dataset.validation) }),
    get(name) {
      const record = get.get(name) as Record<string, unknown> | undefined;
      return record ? toRow(record) : null;
    },
    list: () => (all.all() as Record<string, unknown>[]).map(toRow),
    remove: (name) => void remove.run(name),
  };
}
