import { createGraders } from '../domain/graders/graders.ts';
import type { Foundation } from './foundation.ts';

/** What scores answers, in trainings and evaluations. */
export const composeGraders = ({ config, store }: Foundation) =>
  createGraders({
    table: store.graders,
    command: config,
    folder: config.dataDir,
    timeoutMs: config.limits.previewMs,
  });
