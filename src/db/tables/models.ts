import { derivedExport } from '../../contract/derived-export.ts';
import type { ExportOutcome } from '../../contract/journal.ts';
import { gainOf } from '../gain.ts';
import type { Db } from '../open.ts';
import { addSearch, conditionsOf, type Facets, readFacets } from '../search.ts';

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
  readonly export: ExportOutcome;
  readonly artifacts: readonly ModelArtifact[];
  /** What people call it; `name` is what requests name it by. */
  readonly displayName: string;
  readonly notes: string;
  readonly tags: readonly string[];
  /** How much lower its evaluation loss is than its base model's, as a share of it; `null` after its run was deleted. */
  readonly gain: number | null;
}

/** A model without what its number and its run add. */
export type WrittenModel = Omit<ModelRow, 'id' | 'gain'>;
type Names = Pick<ModelRow, 'displayName' | 'notes' | 'tags'>;
/** A model that is stored: its name is that of requests if it has no other, and its GGUF files are those it has. */
export type NewModel = Omit<WrittenModel, 'export' | keyof Names> & Partial<Pick<ModelRow, 'export'> & Names>;
/** What an export changes. */
export type ModelFiles = Pick<ModelRow, 'artifacts' | 'sizeBytes' | 'verification' | 'export'>;

/** Filters for `page`: values of columns, words and tags. */
export interface ModelFilter {
  readonly task?: string | undefined;
  readonly strategy?: string | undefined;
  readonly baseModel?: string | undefined;
  readonly datasetName?: string | undefined;
  /** Words that are all in the names, notes, tags, base model or dataset; in upper or lower case. */
  readonly search?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}
/** What a list shows of a model. */
export type ListedModel = Omit<ModelRow, 'config' | 'verification' | 'export' | 'artifacts' | 'provider'> & {
  /** The model that it was trained on from, as its settings have it. */
  readonly parent: unknown;
};

export interface ModelStore {
  insert(model: NewModel): number;
  byId(id: number): ModelRow | null;
  byModelId(modelId: string): ModelRow | null;
  byName(name: string): ModelRow | null;
  list(task?: string): ModelRow[];
  /** The models of a job, which are one at most. */
  ofJob(jobId: number): ModelRow | null;
  /** The models that a filter has, newest first, without what is only read of one. */
  find(filter: ModelFilter): ListedModel[];
  facets(): Facets;
  setNames(id: number, names: Names): void;
  /** Says which job made a model, if it is there. */
  setJob(modelId: string, jobId: number): void;
  setFiles(id: number, files: ModelFiles): void;
  remove(id: number): void;
}

const toNames = (record: Record<string, unknown>): Names => ({
  displayName: (record.display_name as string) || (record.name as string),
  notes: record.notes as string,
  tags: JSON.parse(record.tags as string),
});

const toListed = (record: Record<string, unknown>): Omit<ListedModel, 'parent'> => ({
  id: record.id as number,
  modelId: record.model_id as string,
  jobId: record.job_id as number | null,
  name: record.name as string,
  baseModel: record.base_model as string,
  task: record.task as string,
  strategy: record.strategy as string,
  datasetName: record.dataset_name as string,
  createdAt: record.created_at as string,
  sizeBytes: record.size_bytes as number,
  path: record.path as string,
  metrics: JSON.parse(record.metrics as string),
  gain: record.gain as number | null,
  ...toNames(record),
});

function toRow(record: Record<string, unknown>): ModelRow {
  const json = (column: string) => {
    const text = record[column] as string | null;
    return text === null ? null : JSON.parse(text);
  };
  return {
    ...toListed(record),
    provider: record.provider as string,
    config: json('config'),
    verification: json('verification'),
    export: json('export') ?? derivedExport(json('artifacts')),
    artifacts: json('artifacts'),
  };
}

/** What a list reads of a model. */
const listed =
  "id, model_id, job_id, name, base_model, task, strategy, dataset_name, created_at, size_bytes, path, metrics, display_name, notes, tags, json_extract(config, '$.parent') AS parent";
const gain = `${gainOf('models', 'job_id', 'metrics')} AS gain`;
const searchable = {
  columns: {
    task: 'task',
    strategy: 'strategy',
    baseModel: 'base_model',
    datasetName: 'dataset_name',
  },
  searched:
    "name || ' ' || display_name || ' ' || notes || ' ' || tags || ' ' || base_model || ' ' || dataset_name || ' ' || task",
} as const;

export function createModelStore(db: Db): ModelStore {
  addSearch(db);
  const insert = db.prepare(
    `INSERT INTO models (model_id, job_id, name, base_model, task, provider, strategy, dataset_name,
       created_at, size_bytes, path, config, metrics, verification, export, artifacts, display_name, notes, tags)
     VALUES (@modelId, @jobId, @name, @baseModel, @task, @provider, @strategy, @datasetName, @createdAt,
       @sizeBytes, @path, @config, @metrics, @verification, @export, @artifacts, @displayName, @notes, @tags)`,
  );
  const one = (where: string) => {
    const statement = db.prepare(`SELECT *, ${gain} FROM models WHERE ${where} ORDER BY id DESC LIMIT 1`);
    return (value: unknown) => {
      const record = statement.get(value) as Record<string, unknown> | undefined;
      return record ? toRow(record) : null;
    };
  };
  const all = db.prepare(`SELECT *, ${gain} FROM models ORDER BY id DESC`);
  const ofTask = db.prepare(`SELECT *, ${gain} FROM models WHERE task = ? ORDER BY id DESC`);
  const setFiles = db.prepare(
    'UPDATE models SET artifacts = ?, size_bytes = ?, verification = ?, export = ? WHERE id = ?',
  );
  const setNames = db.prepare('UPDATE models SET display_name = ?, notes = ?, tags = ? WHERE id = ?');
  const setJob = db.prepare('UPDATE models SET job_id = ? WHERE model_id = ?');
  const remove = db.prepare('DELETE FROM models WHERE id = ?');
  return {
    insert: (model) =>
      Number(
        insert.run({
          ...model,
          config: JSON.stringify(model.config),
          metrics: JSON.stringify(model.metrics),
          verification: model.verification === null ? null : JSON.stringify(model.verification),
          export: JSON.stringify(model.export ?? derivedExport(model.artifacts)),
          artifacts: JSON.stringify(model.artifacts),
          displayName: model.displayName ?? model.name,
          notes: model.notes ?? '',
          tags: JSON.stringify(model.tags ?? []),
        }).lastInsertRowid,
      ),
    byId: one('id = ?'),
    byModelId: one('model_id = ?'),
    byName: one('name = ?'),
    list: (task) =>
      ((task === undefined ? all.all() : ofTask.all(task)) as Record<string, unknown>[]).map(toRow),
    ofJob: one('job_id = ?'),
    find(filter) {
      const { conditions, values } = conditionsOf(searchable, filter);
      const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
      const found = db.prepare(`SELECT ${listed}, ${gain} FROM models ${where} ORDER BY id DESC`);
      return (found.all(...values) as Record<string, unknown>[]).map((record) => ({
        ...toListed(record),
        parent: record.parent === null ? null : JSON.parse(record.parent as string),
      }));
    },
    facets: () => readFacets(db, 'models', 'base_model'),
    setNames: (id, { displayName, notes, tags }) =>
      void setNames.run(displayName, notes, JSON.stringify(tags), id),
    setJob: (modelId, jobId) => void setJob.run(jobId, modelId),
    setFiles: (id, { artifacts, sizeBytes, verification, export: made }) =>
      void setFiles.run(
        JSON.stringify(artifacts),
        sizeBytes,
        verification === null ? null : JSON.stringify(verification),
        JSON.stringify(made),
        id,
      ),
    remove: (id) => void remove.run(id),
  };
}
