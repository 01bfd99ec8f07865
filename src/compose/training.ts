import { join } from 'node:path';
import { createHubModels } from '../domain/base-models/hub-models.ts';
import { createSelection } from '../domain/base-models/selection.ts';
import { createDatasets } from '../domain/datasets/datasets.ts';
import { createExampleDatasets } from '../domain/datasets/example-datasets.ts';
import { createImports } from '../domain/datasets/imports/imports.ts';
import { createDatasetVersions } from '../domain/datasets/versions/dataset-versions.ts';
import type { Graders } from '../domain/graders/graders.ts';
import { createEarlierRuns } from '../domain/jobs/earlier-runs.ts';
import { createJobs } from '../domain/jobs/jobs.ts';
import { createShare } from '../domain/jobs/run/devices.ts';
import { createRunsUnderway } from '../domain/jobs/runs-underway.ts';
import type { TrainerRegistry } from '../domain/machine/trainer-registry.ts';
import { createMoving } from '../domain/moving/moving.ts';
import { createDatasetAnalysis } from '../domain/training/dataset-analysis.ts';
import { createPlanner } from '../domain/training/estimate/planner.ts';
import { createPreviewer } from '../domain/training/previewer.ts';
import { recommendedSettings } from '../domain/training/settings.ts';
import { createSettingsContext } from '../domain/training/settings-context.ts';
import { createTeachers } from '../domain/training/teaching/teachers.ts';
import { createLauncher } from '../trainer/processes/launcher.ts';
import type { WarmTrainer } from '../trainer/processes/warm.ts';
import { version } from '../version.ts';
import { type Foundation, starterDirs } from './foundation.ts';
import type { composeMachine } from './machine.ts';
import type { composeModels } from './models.ts';
import { keptRows } from './rows/kept-rows.ts';

/** What there is to teach other models. */
export const composeTeachers = (
  { models, remoteModels, localModels, sizeOf, parents }: ReturnType<typeof composeModels>,
  registry: TrainerRegistry,
) =>
  createTeachers({
    registry,
    localModels,
    sizeOf,
    parents,
    names: () => ({
      models: models.list().map(({ name }) => name),
      remote: remoteModels.list().map(({ name }) => name),
    }),
  });

/** From choosing a model and a dataset to running the training jobs. */
export function composeTraining(
  { config, logger, store, frames, bin, hub }: Foundation,
  { machine, live, registry }: ReturnType<typeof composeMachine>,
  { models, engine, playground, tools, sizeOf, parents }: ReturnType<typeof composeModels>,
  warm: WarmTrainer,
  graders: Graders,
  onTrainings: () => void,
) {
  const { dataDir, jobsDir, logsDir, limits, defaultBatchSize } = config;
  const share = createShare(machine, config);
  const datasets = createDatasets(config.datasetsDir, store.datasets, limits, bin);
  const selection = createSelection({ store: store.session, registry, hub, sizeOf, parents });
  const cluster = config.cluster !== null;
  const settingsContext = createSettingsContext({ machine, registry, defaultBatchSize, cluster });
  const judges = { registry, datasets, graders, settingsContext, sizeOf, parents };
  const earlierRuns = createEarlierRuns(store);
  const bytesPerRow = (name: string) => {
    const found = datasets.find(name);
    return found === null ? null : found.sizeBytes / Math.max(1, found.numExamples);
  };
  const planner = createPlanner({
    ...judges,
    machine,
    selection,
    dataDir,
    earlierRuns,
    otherRuns: createRunsUnderway({ store, jobsDir, share }),
  });
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
    hub,
    timeoutMs: limits.previewMs,
  });
  return {
    judges,
    share,
    datasets,
    datasetVersions: createDatasetVersions(datasets, (names) => keptRows(store, config, names)),
    imports,
    examples: createExampleDatasets({
      dir: join(config.installDir, 'examples'),
      starterDirs: starterDirs(config),
      datasets,
      recommended: async (task) => selection.recommend((await machine()).profile, task).recommended,
    }),
    selection,
    hubModels: createHubModels({ store, frames, selection, sizeOf, logger, command: config, hub }),
    planner,
    previewer,
    datasetAnalysis: createDatasetAnalysis({
      datasets,
      store: store.datasets,
      judges,
      previewer,
      frames,
      dataDir,
    }),
    recommendedSettings: async () => recommendedSettings(await settingsContext()),
    moving: createMoving({
      baseUrl: config.openAiBaseUrl,
      patience: {
        timeoutMs: limits.hubTimeoutMs,
        backoffMs: limits.moveBackoffMs,
        waitMs: limits.moveWaitMs,
      },
      store,
      datasets,
      imports,
      recordsPath: join(dataDir, 'moved', 'openai.json'),
      recommend: async () => ({
        baseModel: selection.recommend((await machine()).profile, 'text-generation').recommended,
        recommended: recommendedSettings(await settingsContext()),
      }),
    }),
    expectTraining: () => void warm.expect(),
    jobs: createJobs({
      store,
      frames,
      bin,
      models,
      judges,
      launcher: createLauncher({ command: config, warm, hub }),
      times: {
        earlierRuns,
        bytesPerRow,
        parametersOf: async (name) => (await sizeOf(name)).parameters,
      },
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
        cluster,
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
