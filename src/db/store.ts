import { openDatabase } from './open.ts';
import { type AccessStore, createAccessStore } from './tables/access.ts';
import { type AliasStore, createAliasStore } from './tables/aliases.ts';
import { type BinStore, createBinStore } from './tables/bin.ts';
import { type ChatStore, createChatStore } from './tables/chats.ts';
import { createDatasetStore, type DatasetStore } from './tables/datasets.ts';
import { createDocumentStore, type DocumentStore } from './tables/documents/documents.ts';
import { createRowMakingStore, type RowMakingStore } from './tables/documents/row-makings.ts';
import { createEvalStore, type EvalStore } from './tables/evals.ts';
import { createEvaluationStore, type EvaluationStore } from './tables/evaluations.ts';
import { createEventStore, type EventStore } from './tables/events.ts';
import { createFineTuningStore, type FineTuningStore } from './tables/fine-tuning.ts';
import { createGraderStore, type GraderStore } from './tables/graders.ts';
import { createJobStore, type JobStore } from './tables/jobs.ts';
import { createKeyUseStore, type KeyUseStore } from './tables/key-uses.ts';
import { createModelStore, type ModelStore } from './tables/models.ts';
import { createSessionStore, type SessionStore } from './tables/session.ts';
import { createSweepStore, type SweepStore } from './tables/sweeps.ts';

/** The tables and transactions. */
export interface Store {
  readonly jobs: JobStore;
  readonly events: EventStore;
  readonly models: ModelStore;
  readonly datasets: DatasetStore;
  readonly documents: DocumentStore;
  readonly rowMakings: RowMakingStore;
  readonly session: SessionStore;
  readonly access: AccessStore;
  readonly aliases: AliasStore;
  readonly keyUses: KeyUseStore;
  readonly fineTuning: FineTuningStore;
  readonly sweeps: SweepStore;
  readonly evaluations: EvaluationStore;
  readonly evals: EvalStore;
  readonly graders: GraderStore;
  readonly chats: ChatStore;
  readonly bin: BinStore;
  /** Whether this database has never had a job, a model or an evaluation. */
  isUnused(): boolean;
  /** Runs `work` in one transaction. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** Opens the database at `path`; see `openDatabase` for what it raises. */
export function openStore(path: string, migrationsDir: string): Store {
  const db = openDatabase(path, migrationsDir);
  // SQLite's own table of the largest numbers that were given out.
  const used = db.prepare(
    "SELECT 1 FROM sqlite_sequence WHERE name IN ('jobs', 'models', 'evaluations') LIMIT 1",
  );
  return {
    jobs: createJobStore(db),
    events: createEventStore(db),
    models: createModelStore(db),
    datasets: createDatasetStore(db),
    documents: createDocumentStore(db),
    rowMakings: createRowMakingStore(db),
    session: createSessionStore(db),
    access: createAccessStore(db, path),
    aliases: createAliasStore(db),
    keyUses: createKeyUseStore(db),
    fineTuning: createFineTuningStore(db),
    sweeps: createSweepStore(db),
    evaluations: createEvaluationStore(db),
    evals: createEvalStore(db),
    graders: createGraderStore(db),
    chats: createChatStore(db),
    bin: createBinStore(db),
    isUnused: () => used.get() === undefined,
    transaction: (work) => db.transaction(work).immediate(),
    close: () => db.close(),
  };
}
