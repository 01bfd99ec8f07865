import { createLocalModels, type LocalModels } from '../domain/base-models/local-models.ts';
import type { SizeOf } from '../domain/base-models/model-size.ts';
import { findStarter } from '../domain/datasets/starter-model.ts';
import { type Foundation, starterDirs } from './foundation.ts';

/** The base models on this machine. */
export const composeLocalModels = ({ config, store }: Foundation, sizeOf: SizeOf): LocalModels =>
  createLocalModels({
    starter: () => findStarter(starterDirs(config)),
    trained: () => store.jobs.list({ states: [], limit: 200, offset: 0 }).jobs,
    sizeOf,
  });
