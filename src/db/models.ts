import type { Db } from './open.ts';

/** One file of a model, with its path relative to the model's folder. */
export interface ModelArtifact {
  readonly kind: string;
  readonly path: string;
  readonly bytes: number;
  readonly quantization: string | null;
}

/** A trained model. `id` is its number in the flat set, `modelId` its UUID in the other. */
export interface ModelRow {
  readonly id: number;
  readonly modelId: string;
  readonly jobId: number | null;
  readonly name: string;
  readonly baseModel: string;
  readonly task: string;
  readonly provider: string;
  readonly strategy: string;
  readonly datasetName: string;
  readonly createdAt: string;
  readonly sizeBytes: number;
  /** Absolute path of the model's folder. */
  readonly path: string;
  /** The training settings, named as in the training request. */
  readonly config: Record<string, unknown>;
  readonly metrics: Record<string, unknown>;
  readonly verification: Record<string, unknown> | null;
  readonly artifacts: readonly ModelArtifact[];
}

export interface ModelStore {
  insert(model: Omit<ModelRow, 'id'>): number;
  byId(id: number): ModelRow | null;
  byModelId(modelId: string): ModelRow | null;
  byName(name: string): ModelRow | null;
  list(task?: string): ModelRow[];
  setArtifacts(id: number, artifacts: readonly ModelArtifact[], sizeBytes: number): void;
  remove(id: number): void;
}

function toRow(record: Record<string, unknown>): ModelRow {
  const json = (column: string) => {
    const text = record[column] as string | null;
    return text === null ? null : JSON.parse(text);
  };
  return {
    id: record.id as number,
    modelId: record.model_id as string,
    jobId: record.job_id as number | null,
    name: record.name as string,
    baseModel: record.base_model as string,
    task: record.task as string,
    provider: record.provider as string,
    strategy: record.strategy as string,
    datasetName: record.dataset_name as string,
    createdAt: record.created_at as string,
    sizeBytes: record.size_bytes as number,
    path: record.path as string,
    config: json('config'),
    metrics: json('metrics'),
    verification: json('verification'),
    artifacts: json('artifacts'),
  };
}

export function createModelStore(db: Db): ModelStore {
  const insert = db.prepare(
    `INSERT INTO models (model_id, job_id, name, base_model, task, provider, strategy, dataset_name,
       created_at, size_bytes, path, config, metrics, verification, artifacts)
     VALUES (@modelId, @jobId, @name, @baseModel, @task, @provider, @strategy, @datasetName,
       @createdAt, @sizeBytes, @path, @config, @metrics, @verification, @artifacts)`,
  );
  const one = (where: string) => {
    const statement = db.prepare(`SELECT * FROM models WHERE ${where} ORDER BY id DESC LIMIT 1`);
    return (value: unknown) => {
      const record = statement.get(value) as Record<string, unknown> | undefined;
      return record ? toRow(record) : null;
    };
  };
  const all = db.prepare('SELECT * FROM models ORDER BY id DESC');
  const ofTask = db.prepare('SELECT * FROM models WHERE task = ? ORDER BY id DESC');
  const setArtifacts = db.prepare('UPDATE models SET artifacts = ?, size_bytes = ? WHERE id = ?');
  const remove = db.prepare('DELETE FROM models WHERE id = ?');
  return {
    insert: (model) =>
      Number(
        insert.run({
          ...model,
          config: JSON.stringify(model.config),
          metrics: JSON.stringify(model.metrics),
          verification: model.verification === null ? null : JSON.stringify(model.verification),
          artifacts: JSON.stringify(model.artifacts),
        }).lastInsertRowid,
      ),
    byId: one('id = ?'),
    byModelId: one('model_id = ?'),
    byName: one('name = ?'),
    list: (task) =>
      ((task === undefined ? all.all() : ofTask.all(task)) as Record<string, unknown>[]).map(toRow),
    setArtifacts: (id, artifacts, sizeBytes) =>
      void setArtifacts.run(JSON.stringify(artifacts), sizeBytes, id),
    remove: (id) => void remove.run(id),
  };
}
