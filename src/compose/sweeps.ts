import type { Jobs } from '../domain/jobs/jobs.ts';
import { createSweeps } from '../domain/sweeps/sweeps.ts';
import { judgeRequest } from '../domain/training/judge-request.ts';
import type { Foundation } from './foundation.ts';
import type { composeTraining } from './training.ts';

/** Trainings with different settings. */
export const composeSweeps = (
  { config, logger, store, frames, bin }: Foundation,
  { judges }: ReturnType<typeof composeTraining>,
  jobs: Jobs,
) =>
  createSweeps({
    store,
    frames,
    bin,
    jobs,
    command: config,
    jobsDir: config.jobsDir,
    parallel: config.parallel,
    logger,
    describe: judges.registry.get,
    graders: judges.graders,
    judge: (request) => judgeRequest(request, judges, true),
  });
