import { join } from 'node:path';
import type { Config } from './config.ts';
import { activeStates, unfinishedStates } from './contract/jobs.ts';
import { createRollingBackups } from './db/rolling-backups.ts';
import type { Store } from './db/store.ts';
import { createAccess } from './domain/access/access.ts';
import { createAccessKeys } from './domain/access/access-keys.ts';
import { cookieNameOf, createSessions } from './domain/access/sessions.ts';
import { createLocalModels } from './domain/base-models/local-models.ts';
import { createModelSizes } from './domain/base-models/model-size.ts';
import { createSelection } from './domain/base-models/selection.ts';
import { createCheckpoints } from './domain/checkpoints/checkpoints.ts';
import { createSharedBases } from './domain/checkpoints/shared-bases.ts';
import { createDatasets } from './domain/datasets/datasets.ts';
import { createExampleDatasets } from './domain/datasets/example-datasets.ts';
import { createImports } from './domain/datasets/imports/imports.ts';
import { findStarter } from './domain/datasets/starter-model.ts';
import { createEvaluations, type Evaluations } from './domain/evaluations/evaluations.ts';
import type { FrameLog, Publish } from './domain/events/frame-log.ts';
import { createFineTuningFiles } from './domain/fine-tuning/fine-tuning-files.ts';
import { createFineTuningJobs } from './domain/fine-tuning/fine-tuning-jobs.ts';
import { createModelReferences } from './domain/fine-tuning/model-references.ts';
import { createResultFiles } from './domain/fine-tuning/result-files.ts';
import { jobName } from './domain/job-record/job.ts';
import { createShare, readHeld, spareDevices } from './domain/jobs/devices.ts';
import { createEarlierRuns } from './domain/jobs/earlier-runs.ts';
import { createEndWebhook, type EndWebhook } from './domain/jobs/end-webhook.ts';
import { createJobs } from './domain/jobs/jobs.ts';
import { createRunsUnderway } from './domain/jobs/runs-underway.ts';
import { createClusterView } from './domain/machine/cluster.ts';
import { createLive } from './domain/machine/live.ts';
import { createMachineReader } from './domain/machine/machine.ts';
import { createTrainerRegistry } from './domain/machine/trainer-registry.ts';
import { createHubPush } from './domain/models/hub-push.ts';
import { createModelRemoval, type RemoveModel } from './domain/models/model-removal.ts';
import { createModels } from './domain/models/models.ts';
import { createQuantizer } from './domain/models/quantizer.ts';
import { createMoving } from './domain/moving/moving.ts';
import { createPlayground } from './domain/playground/playground.ts';
import type { Services } from './domain/services.ts';
import { createSweeps, type Sweeps } from './domain/sweeps/sweeps.ts';
import { createDatasetAnalysis } from './domain/training/dataset-analysis.ts';
import { judgeRequest } from './domain/training/judge-request.ts';
import { createPlanner } from './domain/training/planner.ts';
import { createPreviewer } from './domain/training/previewer.ts';
import { recommendedSettings } from './domain/training/settings.ts';
import { createSettingsContext } from './domain/training/settings-context.ts';
import { availableMemory } from './hardware/facts.ts';
import type { HubAccess } from './hub/access.ts';
import { createEngine } from './inference/engine.ts';
import { createEngines } from './inference/engines.ts';
import { createTrainedEngine } from './inference/trained-engine.ts';
import type { Logger } from './logger.ts';
import { openRecords } from './open-records.ts';
import { answeringEnvironment, startAnswering } from './trainer/answering.ts';
import { lookAtCluster } from './trainer/cluster.ts';
import { describeTrainer } from './trainer/describe.ts';
import { createLauncher } from './trainer/launcher.ts';
import { createWarmTrainer, type WarmTrainer } from './trainer/warm.ts';

/** The API version (docs/specification.md, Versioning). */
export const version = 'v2';

/**
 * Free memory required to start a warm trainer: its imports (0.9 GB with PyTorch's CUDA build) and the same amount as
 * headroom.
 */
const warmTrainerBytes = 2 * 2 ** 30;

/** The dependencies that everything else is built from. */
interface Ground {
  readonly config: Config;
  readonly logger: Logger;
  readonly store: Store;
  readonly frames: FrameLog;
  readonly hub: HubAccess;
}

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
  const { store, frames, reserve, notice } = await openRecords(config, logger, (frame, traits) => {
    publish(frame, traits);
    sweeps?.take(frame);
    webhook?.take(frame);
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
  const { live, ...machineServices } = machine;
  const { engine, ...modelServices } = models;
  const { judges: _judges, tools: _tools, share: _share, ...trainingServices } = training;
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
        models.quantizer.close(),
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

/** What this machine is, its current load, and what it can train. */
function composeMachine({ config, logger, frames }: Ground) {
  const machine = createMachineReader(config.dataDir);
  return {
    machine,
    live: createLive(frames, logger, async () => (await machine()).facts.gpus.map(({ name }) => name)),
    cluster: createClusterView(config.cluster?.address ?? null, () => lookAtCluster(config)),
    registry: createTrainerRegistry(() => describeTrainer(config, config.converterDir)),
  };
}

/** Trained models, and the features that use their files. */
function composeModels(
  { config, logger, store, frames, hub }: Ground,
  { machine }: ReturnType<typeof composeMachine>,
  warm: WarmTrainer,
) {
  const models = createModels({ store, frames, modelsDir: config.modelsDir });
  const bounds = {
    idleMs: config.limits.playgroundIdleMs,
    silenceMs: config.limits.engineSilenceMs,
    stallMs: config.limits.engineStallMs,
    maxPending: config.limits.pendingAnswers,
    logger,
  };
  const engine = createEngines(
    createEngine({
      workerPath: join(config.installDir, 'dist', 'inference-worker.js'),
      gpu: 'auto',
      available: async () => ((await machine()).facts.gpus.length > 0 ? null : availableMemory()),
      maxLoaded: 2,
      ...bounds,
    }),
    createTrainedEngine({
      program: async () => {
        const forked = await warm.answer(answeringEnvironment(config));
        return () => forked ?? startAnswering(config);
      },
      ...bounds,
    }),
  );
  const bases = createSharedBases({ store, basesDir: config.basesDir, jobsDir: config.jobsDir });
  const checkpoints = createCheckpoints({
    store,
    models,
    bases,
    jobsDir: config.jobsDir,
    command: config,
    logger,
  });
  const playground = createPlayground({ engine, store, models, checkpoints, bases });
  const hubPush = createHubPush({ hub, frames, models, logger });
  const quantizer = createQuantizer({
    store,
    frames,
    models,
    command: [process.execPath, join(config.installDir, 'dist', 'quantize.js')],
    silenceMs: config.limits.quantizeSilenceMs,
  });
  const remove = createModelRemoval({ store, models, users: [hubPush, quantizer, playground] });
  const removeModel: RemoveModel = async (reference) => {
    const model = await remove(reference);
    await playground.sweep();
    return model;
  };
  return { models, engine, checkpoints, playground, hubPush, quantizer, removeModel };
}

/** From choosing a model and a dataset to running the training jobs. */
function composeTraining(
  { config, logger, store, frames, hub }: Ground,
  { machine, live, registry }: ReturnType<typeof composeMachine>,
  { models, engine, playground }: ReturnType<typeof composeModels>,
  warm: WarmTrainer,
  onTrainings: () => void,
) {
  const { jobsDir, logsDir, limits } = config;
  const share = createShare(machine, config);
  const datasets = createDatasets(config.datasetsDir, store.datasets, limits);
  const selection = createSelection({ store: store.session, registry, hub });
  const starterDirs = [config.cacheDir, config.dataDir];
  const { defaultBatchSize } = config;
  const settingsContext = createSettingsContext({
    machine,
    registry,
    defaultBatchSize,
    cluster: config.cluster !== null,
  });
  const judges = { registry, datasets, settingsContext, sizeOf: createModelSizes(hub) };
  const planner = createPlanner({
    ...judges,
    ...{ machine, selection, dataDir: config.dataDir, earlierRuns: createEarlierRuns(store) },
    otherRuns: createRunsUnderway({ store, jobsDir, share }),
  });
  const tools = {
    quantize: [process.execPath, join(config.installDir, 'dist', 'quantize.js')],
    score: [process.execPath, join(config.installDir, 'dist', 'score.js')],
    converter: config.converterDir,
  };
  const imports = createImports({
    datasets,
    datasetsDir: config.datasetsDir,
    command: config,
    frames,
    hub,
    limitBytes: limits.importBytes,
    version,
    logger,
  });
  const previewer = createPreviewer({
    judges,
    command: config,
    tools,
    jobsDir,
    hubToken: config.hubToken,
    timeoutMs: limits.previewMs,
  });
  return {
    judges,
    tools,
    share,
    datasets,
    imports,
    examples: createExampleDatasets({
      dir: join(config.installDir, 'examples'),
      starterDirs,
      datasets,
      recommended: async (task) => selection.recommend((await machine()).profile, task).recommended,
    }),
    selection,
    localModels: createLocalModels({
      starter: () => findStarter(starterDirs),
      trained: () =>
        store.jobs.list({ states: [], limit: 200, offset: 0 }).jobs.map(({ modelName }) => modelName),
    }),
    planner,
    previewer,
    datasetAnalysis: createDatasetAnalysis({ datasets, judges, previewer, frames }),
    recommendedSettings: async () => recommendedSettings(await settingsContext()),
    moving: createMoving({
      baseUrl: config.openAiBaseUrl,
      patience: {
        timeoutMs: limits.hubTimeoutMs,
        backoffMs: limits.moveBackoffMs,
        waitMs: limits.moveWaitMs,
      },
      datasets,
      imports,
      recordsPath: join(config.dataDir, 'moved', 'openai.json'),
      recommend: async () => ({
        baseModel: selection.recommend((await machine()).profile, 'text-generation').recommended,
        recommended: recommendedSettings(await settingsContext()),
      }),
    }),
    expectTraining: () => void warm.expect(),
    jobs: createJobs({
      store,
      frames,
      models,
      judges,
      launcher: createLauncher({ command: config, warm, hubToken: config.hubToken }),
      checkDisk: planner.checkDisk,
      places: { jobsDir, logsDir, tools },
      release: playground.releaseCheckpoints,
      queueLimit: limits.queuedJobs,
      waits: {
        askMs: limits.stopAskMs,
        termMs: limits.stopTermMs,
        heartbeatMs: limits.heartbeatMs,
        lingerMs: limits.lingerMs,
      },
      machine: {
        share,
        cluster: config.cluster !== null,
        takeTrace: live.takeTrace,
        onActive: (ids) => {
          engine.setTrainingActive(ids.length > 0);
          live.setTraining(ids);
          onTrainings();
        },
      },
      logger,
    }),
  };
}

/** Scoring datasets, beside trainings only where they leave devices free. */
function composeEvaluations(
  { config, logger, store, frames }: Ground,
  { models, checkpoints }: ReturnType<typeof composeModels>,
  { judges, tools, share }: ReturnType<typeof composeTraining>,
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

function composeWarmTrainer(
  { config, logger, store }: Ground,
  { machine }: Pick<Services, 'machine'>,
): WarmTrainer {
  return createWarmTrainer({
    command: config,
    idleMs: config.limits.warmTrainerIdleMs,
    possible: async () => {
      const { facts } = await machine();
      const hasRoom = facts.ramAvailableBytes > warmTrainerBytes;
      // A GPU driver's state does not survive a fork.
      return hasRoom && facts.gpus.length === 0 && store.jobs.inStates(unfinishedStates).length === 0;
    },
    onReady: () => logger.debug('A trainer is warm'),
    onProblem: (problem) => logger.warn({ problem }, 'No warm trainer; each training starts a new process'),
  });
}
