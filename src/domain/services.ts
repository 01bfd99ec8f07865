import type { Catalog } from './catalog.ts';
import type { Datasets } from './datasets.ts';
import type { Examples } from './examples.ts';
import type { Frames } from './frames.ts';
import type { HubPush } from './hub-push.ts';
import type { Jobs } from './jobs.ts';
import type { Machine } from './machine.ts';
import type { Models } from './models.ts';
import type { Planner } from './planner.ts';
import type { Playground } from './playground.ts';
import type { Previewer } from './previewer.ts';
import type { Quantizer } from './quantizer.ts';
import type { Selection } from './selection.ts';
import type { Settings } from './settings.ts';
import type { TrainingRequest } from './training-request.ts';

/** What the faces are given: the core, wired by the composition root. */
export interface Services {
  readonly catalog: Catalog;
  readonly datasets: Datasets;
  readonly examples: Examples;
  readonly frames: Frames;
  readonly hubPush: HubPush;
  readonly jobs: Jobs;
  readonly models: Models;
  readonly planner: Planner;
  readonly playground: Playground;
  readonly previewer: Previewer;
  readonly quantizer: Quantizer;
  readonly selection: Selection;
  readonly machine: () => Promise<Machine>;
  readonly recommendedSettings: (profile?: TrainingRequest['compute_specs']) => Promise<Settings>;
  /** Specification, "Versioning". */
  readonly version: string;
  /** The largest upload, in bytes of the file. */
  readonly uploadLimitBytes: number;
}
