import { createHubModels } from '../domain/base-models/hub-models.ts';
import { createLocalModels } from '../domain/base-models/local-models.ts';
import type { SizeOf } from '../domain/base-models/model-size.ts';
import type { Selection } from '../domain/base-models/selection.ts';
import { findStarter } from '../domain/datasets/starter-model.ts';
import type { Foundation } from './foundation.ts';

/** The base models on this machine. */
export const composeBaseModels = (
  { config, logger, store, frames }: Foundation,
  selection: Selection,
  sizeOf: SizeOf,
  starterDirs: Parameters<typeof findStarter>[0],
) => ({
  localModels: createLocalModels({
    starter: () => findStarter(starterDirs),
    trained: () => store.jobs.list({ states: [], limit: 200, offset: 0 }).jobs,
    sizeOf,
  }),
  hubModels: createHubModels({
    store,
    frames,
    selection,
    sizeOf,
    command: config,
    hubToken: config.hubToken,
    logger,
  }),
});
