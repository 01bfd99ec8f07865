import { join } from 'node:path';
import { activeStates } from '../contract/jobs.ts';
import { createEvaluations } from '../domain/evaluations/evaluations.ts';
import type { Graders } from '../domain/graders/graders.ts';
import { jobName } from '../domain/job-record/job.ts';
import { readHeld, spareDevices } from '../domain/jobs/run/devices.ts';
import type { Foundation } from './foundation.ts';
import type { composeModels } from './models.ts';
import type { composeTraining } from './training.ts';

/** Scoring datasets, beside trainings only where they leave devices free. */
export function composeEvaluations(
  { config, logger, store, frames, bin, hub }: Foundation,
  { models, checkpoints, tools }: ReturnType<typeof composeModels>,
  { judges, share }: ReturnType<typeof composeTraining>,
  graders: Graders,
) {
  const { jobsDir, limits } = config;
  return createEvaluations({
    store,
    frames,
    bin,
    models,
    checkpoints,
    graders,
    judges,
    tools,
    logger,
    dir: config.evaluationsDir,
    jobsDir,
    command: config,
    hub,
    async place() {
      // A training that waits for devices comes first.
      if (store.jobs.inStates(['queued']).length > 0) return null;
      const shared = await share();
      const others = store.jobs.inStates(activeStates).map(({ id }) => readHeld(join(jobsDir, jobName(id))));
      const free = spareDevices(shared, others);
      return free === undefined ? null : { free, environment: shared.environment };
    },
    queueLimit: limits.queuedJobs,
    heartbeatMs: limits.heartbeatMs,
  });
}
