import { join } from 'node:path';
import { composeMachine } from './compose-machine.ts';
import { composeModels } from './compose-models.ts';
import { composeTraining } from './compose-training.ts';
import { composeWarmTrainer } from './compose-warm-trainer.ts';
import type { Config } from './config.ts';
import { activeStates } from './contract/jobs.ts';
import { createRollingBackups } from './db/rolling-backups.ts';
import { createAccess } from './domain/access/access.ts';
import { createAccessKeys } from './domain/access/access-keys.ts';
import { cookieNameOf, createSessions } from './domain/access/sessions.ts';
import { createEvaluations, type Evaluations } from './domain/evaluations/evaluations.ts';
import type { Publish } from './domain/events/frame-log.ts';
import { createFineTuningFiles } from './domain/fine-tuning/fine-tuning-files.ts';
import { createFineTuningJobs } from './domain/fine-tuning/fine-tuning-jobs.ts';
import { createModelReferences } from './domain/fine-tuning/model-references.ts';
import { createResultFiles } from './domain/fine-tuning/result-files.ts';
import { jobName } from './domain/job-record/job.ts';
import { readHeld, spareDevices } from './domain/jobs/devices.ts';
import { createEndWebhook, type EndWebhook } from './domain/jobs/end-webhook.ts';
import type { Exporter } from './domain/models/exporter.ts';
import type { Services } from './domain/services.ts';
import { createSweeps, type Sweeps } from './domain/sweeps/sweeps.ts';
import { judgeRequest } from './domain/training/judge-request.ts';
import type { Ground } from './ground.ts';
import type { HubAccess } from './hub/access.ts';
import type { Logger } from './logger.ts';
import { openRecords } from './open-records.ts';
import { version } from './version.ts';

/** The core, wired to an open data directory. `serve` and `stop` both use it. */
export interface Core {
  readonly services: Omit<Services, 'http' | 'reachable' | 'tls'>;
  /** Called with the number of frame listeners. Hardware is sampled only while there are any. */
  setListeners(count: number): void;
  /**
   * Shuts down the service's own processes but leaves trainings running. @returns the names of those trainings.
   */
  close(): Promise<string[]>;
}

export async function compose(config: Config, logger: Logger, publish: Publish): Promise<Core> {
  let sweeps: Sweeps | null = null;
  let evaluations: Evaluations | null = null;
  let webhook: EndWebhook | null = null;
  let exporter: Exporter | null = null;
  const { store, frames, reserve, notice } = await openRecords(config, logger, (frame, traits) => {
    publish(frame, traits);
    sweeps?.take(frame);
    webhook?.take(frame);
    if (frame.type === 'status') exporter?.reconsider();
  });
  const { webhookTimeoutMs: timeoutMs, webhookBackoffMs: backoffMs } = config.limits;
  webhook = createEndWebhook({ store, frames, target: config.webhook, timeoutMs, backoffMs, logger });
  const ground: Ground = { config, logger, store, frames, hub: hubAccess(config) };
  const backups = createRollingBackups({
    databasePath: config.databasePath,
    everyMs: config.limits.backupEveryMs,
    program: [process.execPath, join(config.installDir, 'dist', 'backup.js')],
    logger,
  });
  const accessKeys = createAccessKeys(store.access, config.accessKey);
  const sessions = createSessions(store.access, accessKeys);
  const machine = composeMachine(ground);
  const warm = composeWarmTrainer(ground, machine);
  const models = composeModels(ground, machine, warm);
  exporter = models.exporter;
  const training = composeTraining(ground, machine, models, warm, () => evaluations?.reconsider());
  // On a full disk, these must still be possible.
  const datasets = { ...training.datasets, remove: reserve.around(training.datasets.remove) };
  const jobs = {
    ...training.jobs,
    stop: reserve.around(training.jobs.stop),
    discard: reserve.around(training.jobs.discard),
    remove: reserve.around(async (id: number) => {
      await training.jobs.remove(id);
      await models.playground.sweep();
    }),
  };
  const fineTuning = composeFineTuning(ground, machine, { ...models, ...training, datasets, jobs });
  sweeps = createSweeps({
    ...{ store, frames, jobs, command: config, jobsDir: config.jobsDir, parallel: config.parallel, logger },
    describe: training.judges.registry.get,
    judge: (request) => judgeRequest(request, training.judges),
  });
  evaluations = composeEvaluations(ground, models, training);
  await models.playground.sweep();
  await models.exporter.recover();
  const { live, ...machineServices } = machine;
  const { engine, tools: _tools, sizeOf: _sizeOf, ...modelServices } = models;
  const { judges: _judges, share: _share, ...trainingServices } = training;
  return {
    services: {
      ...machineServices,
      ...modelServices,
      ...trainingServices,
      ...fineTuning,
      sweeps,
      evaluations: { ...evaluations, remove: reserve.around(evaluations.remove) },
      removeModel: reserve.around(modelServices.removeModel),
      datasets,
      jobs,
      accessKeys,
      sessions,
      access: createAccess({
        mode: config.access,
        keys: accessKeys,
        sessions,
        cookieName: cookieNameOf(store.session),
      }),
      frames,
      databaseNotice: notice,
      version,
      parallel: config.parallel,
      uploadLimitBytes: config.limits.uploadBytes,
    },
    setListeners: live.setListeners,
    async close() {
      live.stop();
      warm.close();
      models.checkpoints.close();
      await training.moving.cancel();
      backups.close();
      webhook?.close();
      await Promise.all([
        sweeps?.close(),
        evaluations?.close(),
        training.jobs.close(),
        training.imports.close(),
        models.exporter.close(),
        engine.close(),
      ]);
      const names = training.jobs.underway().map(({ id }) => jobName(id));
      store.close();
      return names;
    },
  };
}

function hubAccess({ hubEndpoint, hubToken, hubOffline, limits }: Config): HubAccess {
  return {
    endpoint: hubEndpoint,
    token: hubToken,
    offline: hubOffline,
    patience: {
      timeoutMs: limits.hubTimeoutMs,
      backoffMs: limits.hubBackoffMs,
      waitMs: limits.hubWaitMs,
    },
  };
}

/** Scoring datasets, beside trainings only where they leave devices free. */
function composeEvaluations(
  { config, logger, store, frames }: Ground,
  { models, checkpoints, tools }: ReturnType<typeof composeModels>,
  { judges, share }: ReturnType<typeof composeTraining>,
) {
  const { jobsDir, limits } = config;
  return createEvaluations({
    ...{ store, frames, models, checkpoints, judges, tools, logger },
    dir: config.evaluationsDir,
    command: config,
    hubToken: config.hubToken,
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

/** OpenAI's fine-tuning API over the same datasets and jobs. */
function composeFineTuning(
  { store }: Ground,
  { machine }: Pick<Services, 'machine'>,
  services: Pick<
    Services,
    'checkpoints' | 'datasets' | 'imports' | 'jobs' | 'models' | 'recommendedSettings' | 'selection'
  >,
) {
  const results = createResultFiles(store);
  const { datasets, imports, selection } = services;
  const files = createFineTuningFiles({ store: store.fineTuning, datasets, imports, results });
  const recommendedModel = async () =>
    selection.recommend((await machine()).profile, 'text-generation').recommended;
  return {
    fineTuningFiles: files,
    modelReferences: createModelReferences({ ...services, store: store.fineTuning }),
    fineTuningJobs: createFineTuningJobs({ ...services, store, files, results, recommendedModel }),
  };
}
