import type { Settings } from '../contract/settings.ts';
import type { Access } from './access/access.ts';
import type { AccessKeys } from './access/access-keys.ts';
import type { Sessions } from './access/sessions.ts';
import type { HubAccount } from './base-models/hub-account.ts';
import type { HubModels } from './base-models/hub-models.ts';
import type { LocalModels } from './base-models/local-models.ts';
import type { Selection } from './base-models/selection.ts';
import type { Bin } from './bin/bin.ts';
import type { Budgets } from './budgets/budgets.ts';
import type { Checkpoints } from './checkpoints/checkpoints.ts';
import type { Datasets } from './datasets/datasets.ts';
import type { ExampleDatasets } from './datasets/example-datasets.ts';
import type { Imports } from './datasets/imports/imports.ts';
import type { DatasetVersions } from './datasets/versions/dataset-versions.ts';
import type { Documents } from './documents/documents.ts';
import type { DocumentRows } from './documents/making/document-rows.ts';
import type { Evals } from './evals/evals.ts';
import type { Evaluations } from './evaluations/evaluations.ts';
import type { FrameLog } from './events/frame-log.ts';
import type { FineTuningFiles } from './fine-tuning/fine-tuning-files.ts';
import type { FineTuningJobs } from './fine-tuning/fine-tuning-jobs.ts';
import type { ModelReferences } from './fine-tuning/model-references.ts';
import type { Graders } from './graders/graders.ts';
import type { JudgeKeys } from './graders/judge-keys.ts';
import type { Jobs } from './jobs/jobs.ts';
import type { SeenCluster } from './machine/cluster.ts';
import type { Machine } from './machine/machine.ts';
import type { TrainerRegistry } from './machine/trainer-registry.ts';
import type { Aliases } from './models/aliases.ts';
import type { Exporter } from './models/export/exporter.ts';
import type { HubPush } from './models/hub-push.ts';
import type { RemoveModel } from './models/model-removal.ts';
import type { Models } from './models/models.ts';
import type { Moving } from './moving/moving.ts';
import type { Bases } from './playground/bases.ts';
import type { Chats } from './playground/chats.ts';
import type { Playground } from './playground/playground.ts';
import type { RemoteModels } from './remote-models/remote-models.ts';
import type { Sweeps } from './sweeps/sweeps.ts';
import type { AnswerGrades } from './traffic/answer-grades.ts';
import type { Masking } from './traffic/masking.ts';
import type { Traffic } from './traffic/traffic.ts';
import type { DatasetAnalysis } from './training/dataset-analysis.ts';
import type { Planner } from './training/estimate/planner.ts';
import type { Previewer } from './training/previewer.ts';
import type { Teachers } from './training/teaching/teachers.ts';

/** What the faces are given: the core, wired by the composition root. */
export interface Services {
  readonly access: Access;
  readonly aliases: Aliases;
  readonly answerGrades: AnswerGrades;
  readonly accessKeys: AccessKeys;
  readonly registry: TrainerRegistry;
  readonly bin: Bin;
  readonly budgets: Budgets;
  readonly chats: Chats;
  readonly checkpoints: Checkpoints;
  /** What is known of the cluster for runs with several workers; `null` without `--cluster`. */
  readonly cluster: () => SeenCluster | null;
  readonly datasets: Datasets;
  readonly datasetVersions: DatasetVersions;
  readonly documents: Documents;
  readonly documentRows: DocumentRows;
  readonly evals: Evals;
  readonly evaluations: Evaluations;
  readonly examples: ExampleDatasets;
  readonly exporter: Exporter;
  readonly fineTuningFiles: FineTuningFiles;
  readonly fineTuningJobs: FineTuningJobs;
  readonly frames: FrameLog;
  readonly graders: Graders;
  readonly judgeKeys: JudgeKeys;
  readonly hubAccount: HubAccount;
  readonly hubModels: HubModels;
  readonly hubPush: HubPush;
  readonly imports: Imports;
  readonly jobs: Jobs;
  readonly localModels: LocalModels;
  readonly masking: Masking;
  readonly models: Models;
  readonly modelReferences: ModelReferences;
  readonly moving: Moving;
  readonly planner: Planner;
  readonly playground: Playground;
  readonly previewer: Previewer;
  readonly datasetAnalysis: DatasetAnalysis;
  readonly remoteModels: RemoteModels;
  readonly selection: Selection;
  readonly sweeps: Sweeps;
  readonly teachers: Teachers;
  readonly traffic: Traffic;
  /** Browsers that have signed in. */
  readonly sessions: Sessions;
  /** Base models that answer before anything was trained. */
  readonly untrained: Bases;
  readonly machine: () => Promise<Machine>;
  readonly recommendedSettings: () => Promise<Settings>;
  /** Called where somebody asks what a training would need: a start is likely, and its process is made ready. */
  readonly expectTraining: () => void;
  readonly removeModel: RemoveModel;
  /** What serves HTTP, and why it is not the fastest that there is. */
  readonly http: { readonly engine: string; readonly description: string; readonly reason: string | null };
  /** What happened to the database before this start; `null` if nothing. */
  readonly databaseNotice: string | null;
  /** Whether the service listens on an address that other machines can reach. */
  readonly reachable: boolean;
  /** Whether it serves HTTPS. */
  readonly tls: boolean;
  /** The API version (docs/specification.md, Versioning). */
  readonly version: string;
  readonly dataDir: string;
  /** The most trainings at once. */
  readonly parallel: number;
  /** The largest upload, in bytes of the file. */
  readonly uploadLimitBytes: number;
  readonly documentLimitBytes: number;
}
