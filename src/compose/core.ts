import { join } from 'node:path';
import type { Config } from '../config.ts';
import { trackerKeysFile } from '../contract/training/trackers.ts';
import type { DiskReserve } from '../db/reserve.ts';
import { createRollingBackups } from '../db/rolling-backups.ts';
import { createAccess } from '../domain/access/access.ts';
import { createAccessKeys } from '../domain/access/access-keys.ts';
import { createKeptKeys } from '../domain/access/kept-keys.ts';
import { cookieNameOf, createSessions } from '../domain/access/sessions.ts';
import { createHubAccount } from '../domain/base-models/hub-account.ts';
import type { Frame, Publish } from '../domain/events/frame-log.ts';
import { createJudgeKeys, judgeKeysPath } from '../domain/graders/judge-keys.ts';
import { jobName } from '../domain/job-record/job.ts';
import { createEndWebhook } from '../domain/jobs/end-webhook.ts';
import type { Jobs } from '../domain/jobs/jobs.ts';
import { createRunTrackers } from '../domain/jobs/run/run-trackers.ts';
import type { Services } from '../domain/services.ts';
import type { HubAccess } from '../hub/access.ts';
import { createHubToken, type HubToken, hubTokenPath } from '../hub/token.ts';
import type { Logger } from '../logger.ts';
import { version } from '../version.ts';
import { composeBin } from './bin.ts';
import { composeBudgets } from './budgets.ts';
import { composeEvaluations } from './evaluations.ts';
import { composeFineTuning } from './fine-tuning.ts';
import type { Foundation } from './foundation.ts';
import { composeGraders } from './graders.ts';
import { composeMachine } from './machine.ts';
import { composeModels } from './models.ts';
import { openRecords } from './records.ts';
import { composeAnswers } from './rows/answers.ts';
import { composeDocuments } from './rows/documents.ts';
import { composeSweeps } from './sweeps.ts';
import { composeTeachers, composeTraining } from './training.ts';
import { composeWarmTrainer } from './warm-trainer.ts';

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

/** Builds the core on what `openRecords` opens. */
export async function composeCore(config: Config, logger: Logger, publish: Publish): Promise<Core> {
  // Parts that act on committed frames, each added once it exists: they are built from the records themselves.
  const listeners: ((frame: Frame) => void)[] = [];
  let onTrainings = () => {};
  const records = await openRecords(config, logger, (frame, traits) => {
    publish(frame, traits);
    for (const take of listeners) take(frame);
  });
  const { store, frames, reserve, notice, traffic } = records;
  // A base may have been that of what was deleted for good.
  const bin = composeBin(config, records, () => models.playground.sweep());
  const { webhookTimeoutMs: timeoutMs, webhookBackoffMs: backoffMs } = config.limits;
  const webhook = createEndWebhook({ store, frames, target: config.webhook, timeoutMs, backoffMs, logger });
  const trackers = composeTrackers(config, logger, records);
  listeners.push(webhook.take, trackers.take);
  const hubToken = createHubToken(hubTokenPath(config.dataDir), config.hubToken);
  const foundation: Foundation = { config, logger, store, frames, bin, hub: hubAccess(config, hubToken) };
  const backups = createRollingBackups({
    databasePath: config.databasePath,
    everyMs: config.limits.backupEveryMs,
    program: [process.execPath, join(config.installDir, 'dist', 'backup.js')],
    logger,
  });
  const accessKeys = createAccessKeys(store.access, config.accessKey);
  const sessions = createSessions(store.access, accessKeys);
  const cookieName = cookieNameOf(store.session);
  const machine = composeMachine(foundation);
  const warm = composeWarmTrainer(foundation, machine);
  const models = composeModels(foundation, machine, warm);
  listeners.push((frame) => frame.type === 'status' && models.exporter.reconsider());
  const graders = composeGraders(foundation);
  const training = composeTraining(foundation, machine, models, warm, graders, () => onTrainings());
  // On a full disk, these must still be possible.
  const datasets = { ...training.datasets, remove: reserve.around(training.datasets.remove) };
  const jobs = onFullDisk(training.jobs, reserve, models.playground.sweep);
  const budgets = composeBudgets(config, records, { ...training, datasets, jobs, keys: accessKeys });
  const fineTuning = composeFineTuning(foundation, machine, {
    ...models,
    ...training,
    datasets,
    jobs,
    graders,
  });
  const rows = composeDocuments(foundation, { ...models, ...fineTuning, datasets, graders, reserve });
  const sweeps = composeSweeps(foundation, training, jobs);
  listeners.push(sweeps.take);
  const evaluations = composeEvaluations(foundation, models, training, graders);
  onTrainings = evaluations.reconsider;
  await models.playground.sweep();
  await models.exporter.recover();
  const { live, ...machineServices } = machine;
  const { engine, tools: _tools, sizeOf: _sizeOf, parents: _, ...modelServices } = models;
  const { judges: _judges, share: _share, ...trainingServices } = training;
  return {
    services: {
      ...machineServices,
      ...modelServices,
      ...trainingServices,
      ...fineTuning,
      ...rows,
      sweeps,
      teachers: composeTeachers(models, machine.registry),
      ...composeAnswers(config, traffic, graders),
      graders,
      judgeKeys: createJudgeKeys(judgeKeysPath(config.dataDir)),
      evals: { ...fineTuning.evals, remove: reserve.around(fineTuning.evals.remove) },
      evaluations: { ...evaluations, remove: reserve.around(evaluations.remove) },
      removeModel: reserve.around(modelServices.removeModel),
      bin,
      budgets,
      datasets,
      jobs: { ...jobs, recover: () => jobs.recover().then(trackers.recover) },
      accessKeys,
      sessions,
      access: createAccess({ mode: config.access, keys: accessKeys, sessions, cookieName }),
      frames,
      hubAccount: createHubAccount(foundation.hub, hubToken),
      databaseNotice: notice,
      version,
      dataDir: config.dataDir,
      parallel: config.parallel,
      uploadLimitBytes: config.limits.uploadBytes,
    },
    setListeners: live.setListeners,
    async close() {
      live.stop();
      for (const part of [warm, models.checkpoints, models.untrained]) part.close();
      await training.moving.close();
      for (const part of [backups, webhook, bin, budgets]) part.close();
      await Promise.all([
        trackers.close(),
        sweeps.close(),
        evaluations.close(),
        fineTuning.evals.runs.close(),
        rows.documentRows.close(),
        training.jobs.close(),
        training.imports.close(),
        training.hubModels.close(),
        models.exporter.close(),
        engine.close(),
      ]);
      traffic.close();
      const names = training.jobs.underway().map(({ id }) => jobName(id));
      store.close();
      return names;
    },
  };
}

/** Jobs, whose ends and deletions are possible on a full disk. @param sweep deletes the bases that no job needs any longer. */
function onFullDisk(jobs: Jobs, { around }: DiskReserve, sweep: () => Promise<void>): Jobs {
  const swept = <R>(result: R) => sweep().then(() => result);
  return {
    ...jobs,
    stop: around(jobs.stop),
    discard: around(jobs.discard),
    remove: around((...args) => jobs.remove(...args).then(swept)),
    removeWith: around((...args) => jobs.removeWith(...args).then(swept)),
  };
}

const composeTrackers = (
  config: Config,
  logger: Logger,
  { store, frames }: Pick<Foundation, 'store' | 'frames'>,
) =>
  createRunTrackers({
    store,
    frames,
    jobsDir: config.jobsDir,
    command: config,
    keys: createKeptKeys(join(config.dataDir, trackerKeysFile), 'tracker'),
    endMs: config.limits.trackerEndMs,
    leaveMs: config.limits.shutdownMs / 2,
    logger,
  });

function hubAccess({ hubEndpoint, hubOffline, limits }: Config, hubToken: HubToken): HubAccess {
  return {
    endpoint: hubEndpoint,
    get token() {
      return hubToken.value;
    },
    offline: hubOffline,
    patience: {
      timeoutMs: limits.hubTimeoutMs,
      backoffMs: limits.hubBackoffMs,
      waitMs: limits.hubWaitMs,
    },
  };
}
